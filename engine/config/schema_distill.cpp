// Keys of the teacher from which a model learns.
#include <algorithm>

#include <spire/error.h>

#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

namespace {

void check_hash(const std::string& hash) {
  bool digits = hash.size() == 16 && std::ranges::all_of(hash, [](char c) {
                  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                });
  if (hash != "auto" && !digits)
    fail(Category::config,
         "'{}' is no hash of 16 hex digits; use auto, or what the start of a run "
         "prints for the teacher",
         hash);
}

}  // namespace

std::vector<Field> distill_fields() {
  const Use with_teacher = {"distill.from", {"a run or checkpoint"}, [](const RunConfig& config) {
                              return config.distill.from != "none";
                            }};
  return {
      // A teacher may be moved: distill.hash tells whether it is another one.
      {.path = "distill.from",
       .slot = [](C& c) -> Slot { return &c.distill.from; },
       .help = "teacher from whose outputs the model learns besides the labels: a run's directory, "
               "of which it is the best checkpoint, a checkpoint, or none",
       .is_path = true,
       .shapes_result = false},
      {.path = "distill.temperature",
       .slot = [](C& c) -> Slot { return &c.distill.temperature; },
       .help = "number by which the logits of teacher and model are divided before they are "
               "compared",
       .range = {.low = 0, .high = 1000, .low_open = true},
       .used_by = with_teacher},
      {.path = "distill.weight",
       .slot = [](C& c) -> Slot { return &c.distill.weight; },
       .help = "share of the teacher in the loss; the labels have the rest",
       .range = at_least(0, 1),
       .used_by = with_teacher},
      {.path = "distill.hash",
       .slot = [](C& c) -> Slot { return &c.distill.hash; },
       .help = "hash that the teacher's weights must have, as the start of a run prints it; auto: "
               "any, and a resumed run needs that of its checkpoint",
       .settle = [](C& c) { check_hash(c.distill.hash); },
       .used_by = with_teacher},
  };
}

}  // namespace spire::inline config::schema_parts

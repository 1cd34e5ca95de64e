// Keys of the weights from which a new run starts.
#include <spire/error.h>

#include "engine/config/schema_parts.h"

namespace spire::inline config::schema_parts {

namespace {

void check_entries(const std::vector<std::string>& map) {
  for (const std::string& entry : map)
    if (entry.find(':') == entry.npos || entry.starts_with(':'))
      fail(Category::config,
           "'{}' does not say what becomes of a name; write {{their name: the name here}}", entry);
}

}  // namespace

// docs/weights.md has names and layouts. A resumed run takes its weights from its
// checkpoint, so that these keys no longer shape its result.
std::vector<Field> init_fields() {
  return {
      {.path = "init.from",
       .slot = [](C& c) -> Slot { return &c.init.from; },
       .help = "weights that a new run starts from, at step 0 with a new optimizer: a run's "
               "directory, a checkpoint, safetensors (a file, its index, or their folder), or none",
       .is_path = true,
       .shapes_result = false},
      {.path = "init.names",
       .slot = [](C& c) -> Slot { return &c.init.names; },
       .help = "whose names and layouts the file has; auto: those under which most is found",
       .shapes_result = false},
      {.path = "init.map",
       .slot = [](C& c) -> Slot { return &c.init.map; },
       .help = "renames tensors of the file: {linear.weight: head.weight}, prefixes {\"module.\": "
               "\"\"}, or patterns with one star {\"enc.*.w\": \"dec.*.w\"}",
       .settle = [](C& c) { check_entries(c.init.map); },
       .maps = true,
       .shapes_result = false},
      {.path = "init.skip",
       .slot = [](C& c) -> Slot { return &c.init.skip; },
       .help = "patterns, as head.*: parameters that start as in any new run, and tensors of the "
               "file that are left out",
       .shapes_result = false},
      {.path = "init.strict",
       .slot = [](C& c) -> Slot { return &c.init.strict; },
       .help = "true: every parameter must be in the file with its shape, and every tensor of the "
               "file in the model; false: those that are not start as in any new run",
       .shapes_result = false},
  };
}

}  // namespace spire::inline config::schema_parts

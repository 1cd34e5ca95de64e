// Parts of the table of config keys, and the bounds that they share. Private to this folder.
#pragma once

#include <limits>
#include <vector>

#include "engine/config/dataset_kinds.h"
#include "engine/config/schema.h"

namespace spire::schema_parts {

using C = RunConfig;

// The first members of a Field: the path of a key is that of its member.
#define KEY(member, help) KEY_AT(#member, member, help)
#define KEY_AT(key, member, text) \
  .path = key, .slot = [](C& c) -> Slot { return &c.member; }, .help = text

inline constexpr double max_size = 1e6;    // bound of widths and of counts of things in memory
inline constexpr double max_steps = 1e12;  // bound of steps and samples

constexpr Range at_least(double low, double high = std::numeric_limits<double>::infinity()) {
  return {.low = low, .high = high};
}
constexpr Range above(double low) {
  return {.low = low, .low_open = true};
}
inline constexpr Range fraction_range = {.low = 0, .high = 1, .high_open = true};

// Returns the condition of keys that apply to stored images.
inline Use stored_images() {
  return {"data.name", dataset_names([](const DatasetKind& kind) { return kind.images; })};
}

// Return the fields of one or more sections, in the order in which they print.
std::vector<Field> model_fields();
std::vector<Field> transformer_fields();
std::vector<Field> init_fields();
std::vector<Field> data_fields();
std::vector<Field> dataset_fields();
std::vector<Field> augment_fields();
std::vector<Field> file_fields();
std::vector<Field> pair_fields();
std::vector<Field> loss_fields();
std::vector<Field> distill_fields();
std::vector<Field> run_fields();
std::vector<Field> device_fields();
std::vector<Field> optimizer_fields();
std::vector<Field> ema_fields();
std::vector<Field> loss_scale_fields();
std::vector<Field> schedule_fields();
std::vector<Field> course_fields();
std::vector<Field> guard_fields();
std::vector<Field> record_fields();
std::vector<Field> monitor_fields();

}  // namespace spire::schema_parts

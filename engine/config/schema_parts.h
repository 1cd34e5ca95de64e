// Parts of the table of config keys, and the bounds that they share. Private to this folder.
#pragma once

#include <initializer_list>
#include <limits>
#include <vector>

#include "engine/config/dataset_kinds.h"
#include "engine/config/schema.h"

namespace spire::schema_parts {

using C = RunConfig;

// The first members of a Field. KEY: the key's path is that of its member in RunConfig.
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
inline constexpr Range positive_share = {.low = 0, .high = 1, .low_open = true};
inline constexpr Range inner_share = {.low = 0, .high = 1, .low_open = true, .high_open = true};

// Returns the fields with a condition that they share.
inline std::vector<Field> used_by(const Use& use, std::vector<Field> fields) {
  for (Field& field : fields) field.used_by = use;
  return fields;
}

inline std::vector<Field> join(std::initializer_list<std::vector<Field>> parts) {
  std::vector<Field> all;
  for (const std::vector<Field>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Returns the condition of keys that apply to stored images.
inline Use stored_images() {
  return {"data.name", dataset_names([](const DatasetKind& kind) { return kind.images; })};
}

// Return the fields of some sections, in the order in which they print.
std::vector<Field> model_fields();  // and of the weights that a run starts from
std::vector<Field> data_fields();
std::vector<Field> loss_fields();       // and of a teacher
std::vector<Field> run_fields();        // batch, precision, devices
std::vector<Field> optimizer_fields();  // and of its schedule
std::vector<Field> course_fields();     // length of the run and its records

}  // namespace spire::schema_parts

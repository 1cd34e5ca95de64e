// Plausibility of the task that the types of arrays imply, by their names and numbers.
// Refused:
//   floating-point targets called labels, or of one-hot rows, or of few whole numbers not called
//   values;
//   tokens by name that are no integers, and features by name whose target is the next token;
//   integers not called labels, without an attribute for classes, with almost one class a row;
//   a task (data.hdf5.task, data.npy.task) that the target's type does not allow.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/data/formats/row_schema.h"

namespace spire::inline data {
namespace {

constexpr int64_t sampled_blocks = 10;
constexpr int64_t max_numbers = 1 << 20;  // of a target in memory
constexpr size_t max_label_values = 100;

// Calls use(row) with rows of a floating-point target, evenly spread over the file, until it
// returns false.
template <typename Use>
void visit_values(const RowTable& table, const Use& use) {
  auto width = static_cast<size_t>(table.columns()[1].shape.elements());
  auto block_rows = std::clamp<int64_t>(max_numbers / static_cast<int64_t>(width), 1, 1000);
  std::vector<float> memory(static_cast<size_t>(block_rows) * width);
  int64_t blocks = (table.count() + block_rows - 1) / block_rows;
  int64_t used = std::min(sampled_blocks, blocks);
  for (int64_t i = 0; i < used; ++i) {
    int64_t first = i * blocks / used * block_rows;
    int64_t rows = std::min(block_rows, table.count() - first);
    table.read(first, rows,
               std::array<std::byte*, 2>{nullptr, reinterpret_cast<std::byte*>(memory.data())});
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
      if (!use(std::span<const float>(memory).subspan(row * width, width))) return;
  }
}

// Returns whether each row has a single 1 and zeros.
bool are_one_hot(const RowTable& table) {
  if (table.columns()[1].shape.elements() < 2) return false;
  bool all = true;
  visit_values(table, [&](std::span<const float> row) {
    all =
        std::ranges::count(row, 1.0f) == 1 && std::ranges::count(row, 0.0f) == std::ssize(row) - 1;
    return all;
  });
  return all;
}

// Returns whether the values are whole, not negative, and few distinct ones.
bool look_like_labels(const RowTable& table) {
  if (table.columns()[1].shape.elements() != 1) return false;
  std::set<float> different;
  bool all = true;
  visit_values(table, [&](std::span<const float> row) {
    different.insert(row[0]);
    all = row[0] >= 0 && std::trunc(row[0]) == row[0] && different.size() <= max_label_values;
    return all;
  });
  return all && different.size() > 1;
}

// Refuses floating-point targets that are rather classes.
void require_values(const RowTable& table) {
  std::string as_values =
      fmt::format("set {}: value to have them found as numbers", table.task_key());
  std::string location = table.location(1), name = array_name(location);
  if (name == "labels")
    fail(Category::data,
         "{}: labels of floating-point numbers; store classes as integers, "
         "labels.astype('int64'), or {}",
         location, as_values);
  if (are_one_hot(table))
    fail(Category::data,
         "{}: each row is 0 but for one 1, as one-hot labels are; store classes as integers (N), "
         "labels.argmax(axis=1), or {}",
         location, as_values);
  if (name != "values" && look_like_labels(table))
    fail(Category::data,
         "{}: floating-point numbers that are whole and few, as labels are; store classes as "
         "integers, or {}",
         location, as_values);
}

// Refuses inputs whose target does not fit their name.
void require_inputs(const RowTable& table) {
  std::string input = table.columns()[0].name, target = table.columns()[1].name;
  std::string name = array_name(table.location(0));
  if (name == "tokens" && input == "features")
    fail(Category::data,
         "{}: tokens are integers (N, T), but these numbers are not; set {}: {} to have them read "
         "as features",
         table.location(0), table.task_key(), target == "labels" ? "class" : "value");
  if (target == "targets" && (input == "features" || name == "features"))
    fail(Category::data,
         "{}: features whose target {} has {} integers a row; a label is one integer a row: of "
         "one-hot rows store argmax(axis=1); values to be found are floating-point numbers",
         table.location(0), array_name(table.location(1)), table.columns()[1].shape.elements());
}

}  // namespace

void require_plausible_task(const RowTable& table, TargetKind task) {
  const std::string& target = table.columns()[1].name;
  if (task == TargetKind::classes && target != "labels")
    fail(Category::data, "{}: {}: class needs integers (N), a label a row", table.location(1),
         table.task_key());
  if (task == TargetKind::values && target != "values")
    fail(Category::data, "{}: {}: value needs floating-point numbers; store them so",
         table.location(1), table.task_key());
  if (task != TargetKind::automatic) return;
  require_inputs(table);
  if (target == "values") require_values(table);
}

void require_plausible_classes(const RowTable& table, TargetKind task, int64_t classes) {
  constexpr int64_t few_classes = 10;
  // The file itself says that they are classes.
  bool declared = array_name(table.location(1)) == "labels" || table.number(1, "classes") ||
                  !table.words(1, "class_names").empty();
  if (task != TargetKind::automatic || table.columns()[1].name != "labels" || declared) return;
  if (classes <= few_classes || classes <= table.count() / 2) return;
  fail(Category::data,
       "{}: integers up to {} in {} rows are hardly classes; set {}: class if they are, or store "
       "numbers that are to be found as floating-point numbers",
       table.location(1), classes - 1, table.count(), table.task_key());
}

}  // namespace spire::inline data

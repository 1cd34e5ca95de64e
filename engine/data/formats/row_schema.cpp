// Schema from attributes. Of the input: mean, stddev (C or F); feature_names (F). Of the target:
// class_names, or classes, a number; vocabulary, as make_vocabulary() reads it; mean, stddev of
// values (K). Without them mean and stddev come from up to 10 000 training samples,
// evenly spread over the file, and classes from the largest training label.
//
// The task that the types of arrays imply must be plausible by their names and numbers. Refused:
//   floating-point targets called labels, or of one-hot rows, or of few whole numbers not called
//   values;
//   tokens by name that are no integers, and features by name whose target is the next token;
//   integers not called labels, without an attribute for classes, with almost one class a row;
//   a task (data.hdf5.task, data.npy.task) that the target's type does not allow.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/data/formats/row_dataset.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/label_survey.h"
#include "engine/data/text/vocabulary.h"

namespace spire {
namespace {

constexpr int64_t sampled_blocks = 10;
constexpr int64_t max_numbers = 1 << 20;  // of a target in memory
constexpr size_t max_label_values = 100;

// Reads at most `most` of the table's blocks of block_rows rows, evenly spread over the file, and
// calls use(numbers) with those of one column, of at most max_rows rows of each block, until it
// returns false.
template <typename T, typename Use>
void read_blocks(const RowTable& table, size_t column, int64_t block_rows, int64_t most,
                 int64_t max_rows, const Use& use) {
  int64_t blocks = (table.count() + block_rows - 1) / block_rows;
  int64_t used = std::min(std::max<int64_t>(most, 1), blocks);
  size_t row_bytes = table.columns()[column].row_bytes();
  std::vector<std::byte> memory(static_cast<size_t>(std::min(block_rows, max_rows)) * row_bytes);
  std::array<std::byte*, 2> to{};
  to[column] = memory.data();
  for (int64_t i = 0; i < used; ++i) {
    int64_t first = i * blocks / used * block_rows;
    int64_t rows = std::min({block_rows, max_rows, table.count() - first});
    table.read(first, rows, to);
    size_t count = static_cast<size_t>(rows) * row_bytes / sizeof(T);
    if (!use(std::span(reinterpret_cast<const T*>(memory.data()), count))) return;
  }
}

// Calls use(row) with rows of a floating-point target until it returns false.
template <typename Use>
void visit_values(const RowTable& table, const Use& use) {
  auto width = static_cast<size_t>(table.columns()[1].shape.elements());
  auto block_rows = std::clamp<int64_t>(max_numbers / static_cast<int64_t>(width), 1, 1000);
  read_blocks<float>(table, 1, block_rows, sampled_blocks, block_rows,
                     [&](std::span<const float> values) {
                       for (; !values.empty(); values = values.subspan(width))
                         if (!use(values.first(width))) return false;
                       return true;
                     });
}

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

constexpr int64_t max_statistics_rows = 10'000;  // read for mean and deviation

// Calls use(numbers) with blocks of the input.
template <typename T, typename Use>
void sample_input(const RowTable& table, int64_t block_rows, const Use& use) {
  read_blocks<T>(table, 0, block_rows, max_statistics_rows / block_rows, max_statistics_rows,
                 [&](std::span<const T> numbers) {
                   use(numbers);
                   return true;
                 });
}

// Running sums of one feature or channel. Skips numbers that are not finite: read() reports them.
struct FeatureSums {
  double count = 0, sum = 0, squares = 0;

  void add(double x) {
    if (!std::isfinite(x)) return;
    count += 1;
    sum += x;
    squares += x * x;
  }
};

// Returns mean and standard deviation along the last axis, sqrt(E[x^2] - E[x]^2); 1 for a constant.
Normalization number_statistics(const RowTable& table, int64_t block_rows) {
  const Column& input = table.columns()[0];
  auto width = static_cast<size_t>(input.shape.back());
  std::vector<FeatureSums> sums(width);
  auto add = [&](auto numbers, const auto& value) {
    for (size_t i = 0; i < numbers.size(); ++i) sums[i % width].add(value(numbers[i]));
  };
  if (input.dtype == DType::f64) {
    sample_input<double>(table, block_rows, [&](auto numbers) { add(numbers, std::identity()); });
  } else {
    auto value = [&](float number) { return in_unit(number, table.unit()); };
    sample_input<float>(table, block_rows, [&](auto numbers) { add(numbers, value); });
  }
  Normalization result;
  for (const FeatureSums& of : sums) {
    double n = std::max(1.0, of.count), mean = of.sum / n;
    double variance = of.squares / n - mean * mean;
    // Relative to the mean: rounding of the sums leaves about 1e-16 of its square.
    bool constant = !(variance > 1e-12 * (mean * mean + 1e-30));
    result.mean.push_back(mean);
    result.stddev.push_back(constant ? 1.0 : std::sqrt(variance));
  }
  return result;
}

Normalization statistics_of(const RowTable& table, int64_t block_rows) {
  if (table.columns()[0].dtype != DType::u8) return number_statistics(table, block_rows);
  PixelHistogram histogram(table.columns()[0].shape.back());
  sample_input<uint8_t>(table, block_rows, [&](auto pixels) { histogram.add(pixels); });
  return histogram.normalization(table.location(0));
}

// Returns the attributes mean and stddev of an array, which has `count` of each; empty: it has
// none.
Normalization stored_scale(const RowTable& table, size_t column, size_t count) {
  Normalization stored = {table.numbers(column, "mean"), table.numbers(column, "stddev")};
  if (stored.mean.empty() && stored.stddev.empty()) return {};
  if (stored.mean.size() != count || stored.stddev.size() != count)
    fail(Category::data, "{}: attributes mean and stddev have {} and {} numbers, expected {}",
         table.location(column), stored.mean.size(), stored.stddev.size(), count);
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(stored.mean[i]) || !(stored.stddev[i] > 0) || std::isinf(stored.stddev[i]))
      fail(Category::data, "{}: attributes mean {} and stddev {}: expected numbers, stddev above 0",
           table.location(column), stored.mean[i], stored.stddev[i]);
  return stored;
}

// Calls use(std::span<const T>) with all targets, block by block.
template <typename T, typename Use>
void for_each_target_block(const RowTable& table, const Use& use) {
  constexpr int64_t block_bytes = 1 << 20;
  auto row_bytes = static_cast<int64_t>(table.columns()[1].row_bytes());
  auto at_once = std::max<int64_t>(1, block_bytes / row_bytes);
  read_blocks<T>(table, 1, at_once, table.count(), at_once, [&](std::span<const T> targets) {
    use(targets);
    return true;
  });
}

int64_t classes_of_masks(const RowTable& table, int64_t ignore_label) {
  int64_t classes = 1;
  for_each_target_block<uint8_t>(table, [&](std::span<const uint8_t> masks) {
    classes = count_mask_classes(masks, ignore_label, classes);
  });
  return classes;
}

// Returns the attributes mean and stddev of the input, or else statistics of the rows.
Normalization normalization_in(const RowTable& table, int64_t block_rows) {
  auto count = static_cast<size_t>(table.columns()[0].shape.back());
  Normalization stored = stored_scale(table, 0, count);
  return stored.mean.empty() ? statistics_of(table, block_rows) : stored;
}

// Returns the largest training label + 1. notes: of labels from 1.
int64_t count_classes(const RowTable& table, TargetKind task, DataConfig::OnError on_error,
                      std::vector<std::string>& notes) {
  LabelSurvey survey([&](int64_t sample) { return table.stored_row(sample); });
  for_each_target_block<int32_t>(table,
                                 [&](std::span<const int32_t> labels) { survey.add(labels); });
  bool sure = task == TargetKind::classes;
  survey.require_classes(table.location(1), on_error == DataConfig::OnError::skip,
                         sure ? "" : fmt::format("set {}: class", table.task_key()));
  if (auto note = survey.note_first(table.location(1))) notes.push_back(std::move(*note));
  return survey.classes();
}

// Returns the vocabulary for make_vocabulary(); empty: unknown.
std::string vocabulary_in(const RowTable& table) {
  std::vector<std::string> words = table.words(1, "vocabulary");
  if (words.empty() || words.front().empty()) return "";
  try {
    make_vocabulary(words.front());
  } catch (const Error& error) {
    fail(Category::data, "{}, attribute vocabulary: {}", table.location(1), error.what());
  }
  return words.front();
}

// Returns the names of all features; empty: unknown.
std::vector<std::string> feature_names_in(const RowTable& table) {
  std::vector<std::string> names = table.words(0, "feature_names");
  int64_t features = table.columns()[0].shape.back();
  if (!names.empty() && std::ssize(names) != features)
    fail(Category::data, "{}: attribute feature_names has {} names for {} features",
         table.location(0), names.size(), features);
  return names;
}

// Sets class names, number of classes and vocabulary of the target.
void describe_classes(const RowTable& table, TargetKind task, const DataConfig& config,
                      const ReadOptions& options, SampleSpec& spec,
                      std::vector<std::string>& notes) {
  const PairsConfig& pairs = config.pairs;
  const std::string& kind = table.columns()[1].name;
  if (kind == "target_images") return;
  if (kind == "values") {
    auto values = static_cast<size_t>(table.columns()[1].shape.elements());
    spec.target_scale = stored_scale(table, 1, values);
    return;
  }
  spec.class_names = table.words(1, "class_names");
  std::optional<int64_t> classes = table.number(1, "classes");
  if (classes && !spec.class_names.empty() && *classes != std::ssize(spec.class_names))
    fail(Category::data,
         "{}: the attribute classes is {}, but there are {} class_names; correct one of them",
         table.location(1), *classes, spec.class_names.size());
  if (!spec.class_names.empty()) classes = std::ssize(spec.class_names);
  if (kind == "targets") spec.vocabulary = vocabulary_in(table);
  if (kind == "masks" && pairs.classes > 0) {
    if (classes && *classes != pairs.classes)
      fail(Category::data,
           "{}: has {} classes by its attributes, but data.pairs.classes is {}; leave that out",
           table.location(1), *classes, pairs.classes);
    classes = pairs.classes;
  }
  // Names that the file has are matched with the trained ones later.
  if (options.trained_classes && spec.class_names.empty()) classes = options.trained->classes;
  if (!classes && kind == "targets")
    fail(Category::data,
         "{}: the attribute classes is missing; set it to the size of the tokens' vocabulary",
         table.location(1));
  if (classes) {
    spec.classes = *classes;
  } else {
    spec.classes = kind == "masks" ? classes_of_masks(table, pairs.ignore_label)
                                   : count_classes(table, task, config.on_error, notes);
  }
}

// Beside images as targets, images are from 0 to 1, as those are, unless the config says otherwise.
DataConfig settled(const DataConfig& config, const Column& target, const ReadOptions& options) {
  using Normalize = DataConfig::Normalize;
  DataConfig result = config;
  if (config.normalize == Normalize::automatic && target.name == "target_images" &&
      !options.as_stored)
    result.normalize = Normalize::unit;
  return result;
}

// task: if it is not auto, it only has to agree with the types.
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

}  // namespace

SampleSpec infer_schema(const RowTable& table, int64_t block_rows, TargetKind task,
                        const DataConfig& config, const ReadOptions& options,
                        std::vector<std::string>& notes) {
  SampleSpec spec;
  spec.columns = table.columns();
  Column& input = spec.columns[0];
  Column& target = spec.columns[1];
  if (target.name == "target_images" && !options.as_stored) target.dtype = options.dtype;
  if (target.name == "masks" && !options.as_stored) target.dtype = DType::i32;
  if (input.name != "tokens") {
    if (!options.as_stored) input.dtype = options.dtype;
    spec.normalization =
        configured_normalization(settled(config, target, options), input.shape.back());
  }
  // Plausibility first: its messages explain more than those of missing attributes.
  require_plausible_task(table, task);
  describe_classes(table, task, config, options, spec, notes);
  require_plausible_classes(table, task, spec.classes);
  if (input.name == "features" && input.shape.rank() == 1)
    spec.feature_names = feature_names_in(table);
  if (input.name != "tokens" && spec.normalization.mean.empty())
    spec.normalization = normalization_in(table, block_rows);
  return spec;
}

}  // namespace spire

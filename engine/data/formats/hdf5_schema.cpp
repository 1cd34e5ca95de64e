// Schema from attributes. Of the input dataset: mean, stddev (C of pixel / 255, or F);
// feature_names (F). Of the target dataset: class_names, or classes, a number; vocabulary, as
// make_vocabulary() reads it. Without them mean and stddev come from up to 10 000 training samples,
// evenly spread over the file, and classes from the largest training label.
#include "engine/data/formats/hdf5_schema.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>

#include <spire/error.h>
#include <spire/run_config.h>

#include "engine/data/images/image_dataset.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
namespace {

constexpr int64_t max_statistics_rows = 10'000;  // read for mean and deviation
constexpr int64_t max_classes = 1 << 20;         // inferred from labels

// Calls use(rows, memory) with blocks of the input, evenly spread over the file.
void sample_blocks(const Hdf5Table& table, int64_t block_rows,
                   const std::function<void(int64_t, std::byte*)>& use) {
  int64_t blocks = (table.count() + block_rows - 1) / block_rows;
  int64_t used = std::clamp<int64_t>(max_statistics_rows / block_rows, 1, blocks);
  int64_t most = std::min(block_rows, max_statistics_rows);
  std::vector<std::byte> memory(static_cast<size_t>(most) * table.columns()[0].row_bytes());
  for (int64_t i = 0; i < used; ++i) {
    int64_t first = i * blocks / used * block_rows;
    int64_t rows = std::min(most, table.count() - first);
    table.read(first, rows, std::array<std::byte*, 2>{memory.data(), nullptr});
    use(rows, memory.data());
  }
}

// Running sums of one feature. Skips numbers that are not finite: read() reports them.
struct FeatureSums {
  double count = 0, sum = 0, squares = 0;

  void add(double x) {
    if (!std::isfinite(x)) return;
    count += 1;
    sum += x;
    squares += x * x;
  }
};

// Returns mean and standard deviation of each feature, sqrt(E[x^2] - E[x]^2); 1 for a constant one.
Normalization feature_statistics(const Hdf5Table& table, int64_t block_rows) {
  const Column& features = table.columns()[0];
  std::vector<FeatureSums> sums(static_cast<size_t>(features.shape[0]));
  sample_blocks(table, block_rows, [&](int64_t rows, std::byte* memory) {
    size_t count = static_cast<size_t>(rows) * sums.size();
    for (size_t i = 0; i < count; ++i)
      sums[i % sums.size()].add(features.dtype == DType::f64
                                    ? reinterpret_cast<const double*>(memory)[i]
                                    : reinterpret_cast<const float*>(memory)[i]);
  });
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

Normalization statistics_of(const Hdf5Table& table, int64_t block_rows) {
  if (table.columns()[0].name == "features") return feature_statistics(table, block_rows);
  PixelHistogram histogram(table.columns()[0].shape.back());
  size_t row_bytes = table.columns()[0].row_bytes();
  sample_blocks(table, block_rows, [&](int64_t rows, std::byte* memory) {
    histogram.add(
        {reinterpret_cast<const uint8_t*>(memory), static_cast<size_t>(rows) * row_bytes});
  });
  return histogram.normalization(table.location(0));
}

// Returns the attributes mean and stddev, or else statistics of the rows.
Normalization normalization_in(const Hdf5Table& table, int64_t block_rows) {
  Normalization stored = {table.numbers(0, "mean"), table.numbers(0, "stddev")};
  if (stored.mean.empty() && stored.stddev.empty()) return statistics_of(table, block_rows);
  auto count = static_cast<size_t>(table.columns()[0].shape.back());
  if (stored.mean.size() != count || stored.stddev.size() != count)
    fail(Category::data, "{}: attributes mean and stddev have {} and {} numbers, expected {}",
         table.location(0), stored.mean.size(), stored.stddev.size(), count);
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(stored.mean[i]) || !(stored.stddev[i] > 0) || std::isinf(stored.stddev[i]))
      fail(Category::data, "{}: attributes mean {} and stddev {}: expected numbers, stddev above 0",
           table.location(0), stored.mean[i], stored.stddev[i]);
  return stored;
}

// Returns the largest number in training masks, but for the ignore label, + 1.
int64_t count_mask_classes(const Hdf5Table& table, int64_t ignore_label) {
  size_t row = table.columns()[1].row_bytes();
  int64_t at_once = std::max<int64_t>(1, (1 << 20) / static_cast<int64_t>(row)), classes = 1;
  std::vector<uint8_t> masks(static_cast<size_t>(at_once) * row);
  for (int64_t first = 0; first < table.count(); first += at_once) {
    int64_t rows = std::min(at_once, table.count() - first);
    auto* memory = reinterpret_cast<std::byte*>(masks.data());
    table.read(first, rows, std::array<std::byte*, 2>{nullptr, memory});
    for (uint8_t value : std::span(masks).first(static_cast<size_t>(rows) * row))
      if (int64_t{value} != ignore_label) classes = std::max(classes, int64_t{value} + 1);
  }
  return classes;
}

// Returns the largest training label + 1.
int64_t count_classes(const Hdf5Table& table) {
  constexpr int64_t at_once = 1 << 16;
  std::vector<int32_t> labels(static_cast<size_t>(std::min(at_once, table.count())));
  int64_t classes = 0;
  for (int64_t first = 0; first < table.count(); first += at_once) {
    int64_t rows = std::min(at_once, table.count() - first);
    auto* memory = reinterpret_cast<std::byte*>(labels.data());
    table.read(first, rows, std::array<std::byte*, 2>{nullptr, memory});
    for (int64_t row = 0; row < rows; ++row) {
      int64_t label = labels[static_cast<size_t>(row)];
      if (label >= max_classes)
        fail(Category::data, "{}: sample {}: label {}; set the attribute classes if it is right",
             table.location(1), first + row, label);
      classes = std::max(classes, label + 1);
    }
  }
  return std::max<int64_t>(classes, 1);
}

// Returns the vocabulary for make_vocabulary(); empty: unknown.
std::string vocabulary_in(const Hdf5Table& table) {
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
std::vector<std::string> feature_names_in(const Hdf5Table& table) {
  std::vector<std::string> names = table.words(0, "feature_names");
  if (!names.empty() && std::ssize(names) != table.columns()[0].shape[0])
    fail(Category::data, "{}: attribute feature_names has {} names for {} features",
         table.location(0), names.size(), table.columns()[0].shape[0]);
  return names;
}

// Sets class names, number of classes and vocabulary of the target.
void describe_classes(const Hdf5Table& table, const PairsConfig& pairs, SampleSpec& spec) {
  const std::string& kind = table.columns()[1].name;
  if (kind == "values" || kind == "target_images") return;
  spec.class_names = table.words(1, "class_names");
  std::optional<int64_t> classes = table.number(1, "classes");
  if (classes && !spec.class_names.empty() && *classes != std::ssize(spec.class_names))
    fail(Category::data,
         "{}: the attribute classes is {}, but there are {} class_names; correct one of them",
         table.location(1), *classes, spec.class_names.size());
  if (!spec.class_names.empty()) classes = std::ssize(spec.class_names);
  if (kind == "targets") spec.vocabulary = vocabulary_in(table);
  if (!classes && kind == "targets")
    fail(Category::data,
         "{}: the attribute classes is missing; set it to the size of the tokens' vocabulary",
         table.location(1));
  if (classes) {
    spec.classes = *classes;
  } else {
    spec.classes =
        kind == "masks" ? count_mask_classes(table, pairs.ignore_label) : count_classes(table);
  }
}

}  // namespace

SampleSpec infer_hdf5_schema(Hdf5Rows& rows, const DataConfig& config, const ReadOptions& options) {
  SampleSpec spec;
  spec.columns = rows.columns();
  Column& input = spec.columns[0];
  Column& target = spec.columns[1];
  if (target.name == "target_images" && !options.stored) target.dtype = options.dtype;
  if (target.name == "masks" && !options.stored) target.dtype = DType::i32;
  if (input.name != "tokens") {
    if (!options.stored) input.dtype = options.dtype;
    spec.normalization = configured_normalization(config, input.shape.back());
  }
  rows.with_table([&](const Hdf5Table& table) {
    // Plausibility first: its messages explain more than those of missing attributes.
    require_plausible_task(table, config.hdf5.task);
    describe_classes(table, config.pairs, spec);
    require_plausible_classes(table, config.hdf5.task, spec.classes);
    if (input.name == "features") spec.feature_names = feature_names_in(table);
    if (input.name != "tokens" && spec.normalization.mean.empty())
      spec.normalization = normalization_in(table, rows.block_rows());
  });
  return spec;
}

void require_same_columns(const Hdf5Rows& train, const Hdf5Rows& test) {
  for (size_t c : {0, 1})
    if (train.columns()[c].name != test.columns()[c].name ||
        train.columns()[c].shape != test.columns()[c].shape)
      fail(Category::data, "{}: {} of {}, but {} contains {} of {}; use files of one set",
           test.location(c), test.columns()[c].name, to_string(test.columns()[c].shape),
           train.location(c), train.columns()[c].name, to_string(train.columns()[c].shape));
}

}  // namespace spire::inline data

#include "engine/data/formats/hdf5_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include <spire/error.h>

#include "engine/data/formats/hdf5_evidence.h"
#include "engine/data/images/image_dataset.h"
#include "engine/data/text/vocabulary.h"

namespace spire::inline data {
namespace {

constexpr int64_t max_statistics_rows = 10'000;
constexpr int64_t max_classes = 1 << 20;  // that labels alone may show

// Calls use(rows, memory) with some of the input's blocks, evenly spread.
void visit_some_rows(const Hdf5Table& table, int64_t block_rows,
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

// Sums of a feature over rows. Numbers that are not finite do not count: reading them finds them.
struct FeatureSums {
  double count = 0, sum = 0, squares = 0;

  void add(double x) {
    if (!std::isfinite(x)) return;
    count += 1;
    sum += x;
    squares += x * x;
  }
};

// Mean and standard deviation of each feature; 1 for the deviation of a constant one.
Normalization feature_statistics(const Hdf5Table& table, int64_t block_rows) {
  const Column& features = table.columns()[0];
  std::vector<FeatureSums> sums(static_cast<size_t>(features.shape[0]));
  visit_some_rows(table, block_rows, [&](int64_t rows, std::byte* memory) {
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
  visit_some_rows(table, block_rows, [&](int64_t rows, std::byte* memory) {
    histogram.add(
        {reinterpret_cast<const uint8_t*>(memory), static_cast<size_t>(rows) * row_bytes});
  });
  return histogram.normalization(table.place(0));
}

Normalization normalization_in(const Hdf5Table& table, int64_t block_rows) {
  Normalization stored = {table.numbers(0, "mean"), table.numbers(0, "stddev")};
  if (stored.mean.empty() && stored.stddev.empty()) return statistics_of(table, block_rows);
  auto count = static_cast<size_t>(table.columns()[0].shape.back());
  if (stored.mean.size() != count || stored.stddev.size() != count)
    fail(Category::data, "{}: attributes mean and stddev have {} and {} numbers, expected {}",
         table.place(0), stored.mean.size(), stored.stddev.size(), count);
  for (size_t i = 0; i < count; ++i)
    if (!std::isfinite(stored.mean[i]) || !(stored.stddev[i] > 0) || std::isinf(stored.stddev[i]))
      fail(Category::data, "{}: attributes mean {} and stddev {}: expected numbers, stddev above 0",
           table.place(0), stored.mean[i], stored.stddev[i]);
  return stored;
}

// One more than the largest training label.
int64_t classes_shown(const Hdf5Table& table) {
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
             table.place(1), first + row, label);
      classes = std::max(classes, label + 1);
    }
  }
  return std::max<int64_t>(classes, 1);
}

// What the tokens are, as make_vocabulary() reads it; empty: nobody says.
std::string vocabulary_in(const Hdf5Table& table) {
  std::vector<std::string> words = table.words(1, "vocabulary");
  if (words.empty() || words.front().empty()) return "";
  try {
    make_vocabulary(words.front());
  } catch (const Error& error) {
    fail(Category::data, "{}, attribute vocabulary: {}", table.place(1), error.what());
  }
  return words.front();
}

// Names of all features, or none.
std::vector<std::string> feature_names_in(const Hdf5Table& table) {
  std::vector<std::string> names = table.words(0, "feature_names");
  if (!names.empty() && std::ssize(names) != table.columns()[0].shape[0])
    fail(Category::data, "{}: attribute feature_names has {} names for {} features", table.place(0),
         names.size(), table.columns()[0].shape[0]);
  return names;
}

void describe_classes(const Hdf5Table& table, SampleSpec& spec) {
  const std::string& kind = table.columns()[1].name;
  if (kind == "values") return;
  spec.class_names = table.words(1, "class_names");
  std::optional<int64_t> classes = table.number(1, "classes");
  if (classes && !spec.class_names.empty() && *classes != std::ssize(spec.class_names))
    fail(Category::data,
         "{}: the attribute classes is {}, but there are {} class_names; correct one of them",
         table.place(1), *classes, spec.class_names.size());
  if (!spec.class_names.empty()) classes = std::ssize(spec.class_names);
  if (kind == "targets") spec.vocabulary = vocabulary_in(table);
  if (!classes && kind == "targets")
    fail(Category::data,
         "{}: the attribute classes is missing; set it to the size of the tokens' vocabulary",
         table.place(1));
  spec.classes = classes ? *classes : classes_shown(table);
}

}  // namespace

SampleSpec hdf5_training_spec(Hdf5Rows& rows, const DataConfig& config,
                              const ReadOptions& options) {
  SampleSpec spec;
  spec.columns = rows.columns();
  Column& input = spec.columns[0];
  if (input.name != "tokens") {
    if (!options.stored) input.dtype = options.dtype;
    spec.normalization = configured_normalization(config, input.shape.back());
  }
  rows.with_table([&](const Hdf5Table& table) {
    require_evidence(table, config.hdf5.task);
    describe_classes(table, spec);
    require_rows_a_class(table, config.hdf5.task, spec.classes);
    if (input.name == "features") spec.feature_names = feature_names_in(table);
    if (input.name != "tokens" && spec.normalization.mean.empty())
      spec.normalization = normalization_in(table, rows.block_rows());
  });
  return spec;
}

void require_same_rows(const Hdf5Rows& train, const Hdf5Rows& test) {
  for (size_t c : {0, 1})
    if (train.columns()[c].name != test.columns()[c].name ||
        train.columns()[c].shape != test.columns()[c].shape)
      fail(Category::data, "{}: {} of {}, but {} contains {} of {}; use files of one set",
           test.place(c), test.columns()[c].name, to_string(test.columns()[c].shape),
           train.place(c), train.columns()[c].name, to_string(train.columns()[c].shape));
}

}  // namespace spire::inline data

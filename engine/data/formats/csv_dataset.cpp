// Tables in CSV files as datasets. data.path is a folder with train.csv and test.csv, or one file
// (also a folder with train.csv alone), whose rows data.csv.test_share splits. Columns: features
// (F), all columns but the target, standardized by the training rows; and labels (), or values (1).
#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include <spire/error.h>
#include <spire/random_stream.h>

#include "engine/data/dataset_table.h"
#include "engine/data/formats/csv_table.h"
#include "engine/data/input_file.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Notes = std::vector<std::string>;

// Training or test data: the rows of a file, the encoded ones among them, and the rejected ones.
struct Split {
  fs::path path;
  const CsvRows& rows;
  std::vector<EncodedRow> encoded;
  RejectedRows rejected;
};

// Rows in memory, as read() copies them.
class CsvDataset : public Dataset {
 public:
  // Features of f64 are the stored numbers, not standardized.
  CsvDataset(Split split, SampleSpec spec);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return std::ssize(targets_); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  int64_t skipped() const override { return rejected_.count(); }
  std::vector<std::string> problems() const override { return rejected_.first(); }
  std::vector<fs::path> files() const override { return {path_}; }

 private:
  template <typename T>
  void fill_features(const Split& split);

  fs::path path_;
  SampleSpec spec_;
  std::vector<std::byte> features_;  // (count, F) of the column's dtype
  std::vector<uint32_t> targets_;    // (count), bits of int32_t or float
  RejectedRows rejected_;
};

CsvDataset::CsvDataset(Split split, SampleSpec spec)
    : path_(split.path), spec_(std::move(spec)), rejected_(split.rejected) {
  for (const EncodedRow& each : split.encoded) targets_.push_back(each.target);
  DType dtype = spec_.columns[0].dtype;
  if (dtype == DType::f64) {
    fill_features<double>(split);
  } else {
    with_any_float_type(dtype, [&](auto type) { fill_features<decltype(type)>(split); });
  }
}

template <typename T>
void CsvDataset::fill_features(const Split& split) {
  const Normalization& by = spec_.normalization;
  size_t width = by.mean.size();
  features_.resize(split.encoded.size() * width * sizeof(T));
  auto* out = reinterpret_cast<T*>(features_.data());
  for (const EncodedRow& each : split.encoded)
    for (size_t f = 0; f < width; ++f) {
      double x = split.rows.features[each.row * width + f];
      // Rounded to float before bf16 or f16, so that these are roundings of the f32 features.
      if constexpr (!std::is_same_v<T, double>)
        x = static_cast<float>((x - by.mean[f]) / by.stddev[f]);
      *out++ = T(x);
    }
}

void CsvDataset::read(std::span<const int64_t> samples, int64_t,
                      std::span<std::byte* const> columns) const {
  size_t bytes = spec_.columns[0].row_bytes();
  for (size_t row = 0; row < samples.size(); ++row) {
    auto sample = static_cast<size_t>(samples[row]);
    std::memcpy(columns[0] + row * bytes, features_.data() + sample * bytes, bytes);
    std::memcpy(columns[1] + row * sizeof(uint32_t), &targets_[sample], sizeof(uint32_t));
  }
}

// Deviations below this fraction of the mean are rounding errors of a constant.
constexpr double rounding = 1e-13;

// Mean and standard deviation of the kept rows, summed in their order in fp64. A constant feature
// gets deviation 1 and so becomes 0.
Normalization normalization_of(const Split& split, const CsvLayout& layout) {
  size_t features = layout.features.size();
  auto n = static_cast<double>(split.encoded.size());
  Normalization result = {std::vector<double>(features), std::vector<double>(features)};
  auto average = [&](std::vector<double>& sums, auto&& term) {
    for (const EncodedRow& each : split.encoded)
      for (size_t f = 0; f < features; ++f)
        sums[f] += term(split.rows.features[each.row * features + f], f) / n;
  };
  average(result.mean, [](double x, size_t) { return x; });
  average(result.stddev,
          [&](double x, size_t f) { return (x - result.mean[f]) * (x - result.mean[f]); });
  for (size_t f = 0; f < features; ++f) {
    result.stddev[f] = std::sqrt(result.stddev[f]);
    if (result.stddev[f] <= rounding * std::abs(result.mean[f])) result.stddev[f] = 1.0;
    if (!std::isfinite(result.mean[f]) || !std::isfinite(result.stddev[f]))
      fail(Category::data,
           "{}: the numbers of {} are too large to be standardized; scale them down",
           split.path.string(), layout.name_of(layout.features[f]));
  }
  return result;
}

SampleSpec spec_of(const CsvLayout& layout, const CsvTargets& targets, DType dtype) {
  SampleSpec spec;
  spec.columns.push_back({"features", {std::ssize(layout.features)}, dtype});
  if (targets.regression) {
    spec.columns.push_back({"values", {1}, DType::f32});
  } else {
    spec.columns.push_back({"labels", {}, DType::i32});
    spec.classes = std::ssize(targets.class_names);
    spec.class_names = targets.class_names;
  }
  if (layout.header)
    for (size_t column : layout.features) spec.feature_names.push_back(layout.names[column]);
  return spec;
}

// spec: has the normalization if that is given.
DatasetPair pair_of(Split train, Split test, SampleSpec spec, const CsvLayout& layout,
                    Notes notes) {
  for (const Split* split : {&train, &test})
    if (split->encoded.empty())
      fail(Category::data, "{}: no row is left for the {}; add rows or change data.csv.test_share",
           split->path.string(), split == &train ? "training" : "test");
  if (spec.normalization.mean.empty()) spec.normalization = normalization_of(train, layout);
  return {std::make_unique<CsvDataset>(std::move(train), spec),
          std::make_unique<CsvDataset>(std::move(test), spec), std::move(notes)};
}

// Opens two files; or, with an empty test_path, splits the rows of one.
DatasetPair open_files(const fs::path& train_path, const fs::path& test_path,
                       const DataConfig& config, const ReadOptions& options) {
  CsvLayout layout = csv_layout(train_path, config.csv);
  RejectedRows train_rejected(config.on_error), test_rejected(config.on_error);
  CsvRows train = read_csv_rows(train_path, layout, train_rejected), test;
  Notes notes = remove_row_numbers(train_path, config.csv, layout, train);
  if (!test_path.empty()) test = read_csv_rows(test_path, layout, test_rejected);
  CsvTargets targets = csv_targets(train_path, train, config.csv, notes);
  std::vector<EncodedRow> encoded = encode_targets(train_path, train, targets, train_rejected);
  Split training = {train_path, train, std::move(encoded), std::move(train_rejected)};
  bool one_file = test_path.empty();
  Split testing = {one_file ? train_path : test_path, one_file ? train : test, {}, test_rejected};
  if (one_file) {
    // clang 14 does not compile the algorithms of libstdc++ 12 that return a subrange.
    auto& rows = training.encoded;
    auto chosen = std::stable_partition(rows.begin(), rows.end(), [&](const EncodedRow& each) {
      return !is_test_row(train.numbers[each.row], config.csv.test_share);
    });
    testing.encoded.assign(chosen, rows.end());
    rows.erase(chosen, rows.end());
  } else {
    testing.encoded = encode_targets(test_path, test, targets, testing.rejected);
  }
  SampleSpec spec = spec_of(layout, targets, options.stored ? DType::f64 : options.dtype);
  bool fits = options.normalization && options.normalization->mean.size() == layout.features.size();
  if (fits) spec.normalization = *options.normalization;
  return pair_of(std::move(training), std::move(testing), std::move(spec), layout,
                 std::move(notes));
}

}  // namespace

DatasetPair open_csv(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: csv; set data.path to the file, or to the "
         "folder of train.csv and test.csv");
  std::error_code error;
  if (!fs::is_directory(config.path, error))
    return open_files(existing_input(config.path), "", config, options);
  fs::path folder = config.path;
  return open_files(existing_input(folder / "train.csv"), find_input(folder / "test.csv"), config,
                    options);
}

bool is_test_row(int64_t number, double test_share) {
  RandomStream draw(0, Purpose::test_split, 0, static_cast<uint64_t>(number));
  return draw.uniform(0) < test_share;
}

}  // namespace spire::inline data

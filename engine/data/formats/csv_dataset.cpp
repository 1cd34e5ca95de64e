// Tables in CSV files as datasets. data.path is a folder with train.csv and test.csv, or one file
// (also a folder with train.csv alone), whose rows data.csv.test_share splits. Columns: features
// (F), all columns but the target, standardized by the training rows; and labels (), or values (1).
#include <cmath>
#include <cstring>
#include <utility>

#include <spire/error.h>

#include "engine/base/philox.h"
#include "engine/data/dataset_table.h"
#include "engine/data/formats/csv_table.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Notes = std::vector<std::string>;

// Training or test data: the rows of a file, the encoded ones among them, and the rejected ones.
struct Split {
  fs::path path;
  const CsvRows& rows;
  EncodedTargets targets;
  RejectedRows rejected;
};

// Rows in memory, as read() copies them.
class CsvDataset : public Dataset {
 public:
  // A features dtype of f64 stands for stored numbers, which are not standardized.
  CsvDataset(Split split, SampleSpec spec);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return std::ssize(targets_.kept); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  int64_t skipped() const override { return rejected_.count(); }
  std::vector<std::string> problems() const override { return rejected_.first(); }
  std::vector<fs::path> files() const override { return {path_}; }

 private:
  template <typename T>
  void fill_features(const CsvRows& rows);

  fs::path path_;
  SampleSpec spec_;
  std::vector<std::byte> features_;  // (count, F) of the column's dtype
  EncodedTargets targets_;           // (count)
  RejectedRows rejected_;
};

CsvDataset::CsvDataset(Split split, SampleSpec spec)
    : path_(std::move(split.path)),
      spec_(std::move(spec)),
      targets_(std::move(split.targets)),
      rejected_(std::move(split.rejected)) {
  DType dtype = spec_.columns[0].dtype;
  if (dtype == DType::f64) {
    fill_features<double>(split.rows);
  } else {
    with_any_float_type(dtype, [&](auto type) { fill_features<decltype(type)>(split.rows); });
  }
}

template <typename T>
void CsvDataset::fill_features(const CsvRows& rows) {
  const Normalization& by = spec_.normalization;
  size_t width = by.mean.size();
  features_.resize(targets_.kept.size() * width * sizeof(T));
  auto* out = reinterpret_cast<T*>(features_.data());
  for (size_t row : targets_.kept)
    for (size_t f = 0; f < width; ++f) {
      double x = rows.features[row * width + f];
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
    const void* target = targets_.values.empty()
                             ? static_cast<const void*>(&targets_.labels[sample])
                             : &targets_.values[sample];
    std::memcpy(columns[1] + row * 4, target, 4);
  }
}

// Deviations below this fraction of the mean are rounding errors of a constant.
constexpr double rounding = 1e-13;

// Mean and standard deviation of the kept rows, summed in their order in fp64. A constant feature
// gets deviation 1 and so becomes 0.
Normalization normalization_of(const Split& split, const CsvLayout& layout) {
  size_t features = layout.features.size();
  auto n = static_cast<double>(split.targets.kept.size());
  Normalization result = {std::vector<double>(features), std::vector<double>(features)};
  auto average = [&](std::vector<double>& sums, auto&& term) {
    for (size_t row : split.targets.kept)
      for (size_t f = 0; f < features; ++f)
        sums[f] += term(split.rows.features[row * features + f], f) / n;
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

DatasetPair pair_of(Split train, Split test, SampleSpec spec, const CsvLayout& layout,
                    Notes notes) {
  for (const Split* split : {&train, &test})
    if (split->targets.kept.empty())
      fail(Category::data, "{}: no row is left for the {}; add rows or change data.csv.test_share",
           split->path.string(), split == &train ? "training" : "test");
  spec.normalization = normalization_of(train, layout);
  return {std::make_unique<CsvDataset>(std::move(train), spec),
          std::make_unique<CsvDataset>(std::move(test), spec), std::move(notes)};
}

// Returns those of `all` that are, or are not, test rows.
EncodedTargets rows_for(bool test, const EncodedTargets& all, const CsvRows& rows, double share) {
  EncodedTargets result;
  for (size_t i = 0; i < all.kept.size(); ++i) {
    if (is_test_row(rows.numbers[all.kept[i]], share) != test) continue;
    result.kept.push_back(all.kept[i]);
    if (!all.labels.empty()) result.labels.push_back(all.labels[i]);
    if (!all.values.empty()) result.values.push_back(all.values[i]);
  }
  return result;
}

// Opens two files; or, with an empty test_path, splits the rows of one.
DatasetPair open_files(const fs::path& train_path, const fs::path& test_path,
                       const DataConfig& config, DType dtype) {
  CsvLayout layout = csv_layout(train_path, config.csv);
  RejectedRows train_rejected(config.on_error), test_rejected(config.on_error);
  CsvRows train = read_csv_rows(train_path, layout, train_rejected), test;
  Notes notes = remove_row_numbers(train_path, config.csv, layout, train);
  if (!test_path.empty()) test = read_csv_rows(test_path, layout, test_rejected);
  CsvTargets targets = csv_targets(train_path, train, config.csv, notes);
  SampleSpec spec = spec_of(layout, targets, dtype);
  EncodedTargets encoded = encode_targets(train_path, train, targets, train_rejected);
  double share = config.csv.test_share;
  if (test_path.empty())
    return pair_of({train_path, train, rows_for(false, encoded, train, share), train_rejected},
                   {train_path, train, rows_for(true, encoded, train, share), test_rejected}, spec,
                   layout, std::move(notes));
  EncodedTargets test_encoded = encode_targets(test_path, test, targets, test_rejected);
  return pair_of({train_path, train, std::move(encoded), train_rejected},
                 {test_path, test, std::move(test_encoded), test_rejected}, spec, layout,
                 std::move(notes));
}

}  // namespace

DatasetPair open_csv(const DataConfig& config, const ReadOptions& options) {
  if (config.path == "auto")
    fail(Category::config,
         "data.path: auto does not work for data.name: csv; set data.path to the file, or to the "
         "folder of train.csv and test.csv");
  std::error_code error;
  DType dtype = options.stored ? DType::f64 : options.dtype;
  if (!fs::is_directory(config.path, error))
    return open_files(existing_input(config.path), "", config, dtype);
  fs::path folder = config.path;
  return open_files(existing_input(folder / "train.csv"), find_input(folder / "test.csv"), config,
                    dtype);
}

bool is_test_row(int64_t number, double test_share) {
  RandomStream draw(0, Purpose::test_split, 0, static_cast<uint64_t>(number));
  return draw.uniform(0) < test_share;
}

}  // namespace spire::inline data

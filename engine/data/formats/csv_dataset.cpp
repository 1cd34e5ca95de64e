#include "engine/data/formats/csv_dataset.h"

#include <cmath>
#include <cstring>
#include <utility>

#include <spire/error.h>

#include "engine/base/philox.h"
#include "engine/data/formats/csv_row_numbers.h"
#include "engine/data/formats/csv_targets.h"

namespace spire::inline data {
namespace {

namespace fs = std::filesystem;
using Notes = std::vector<std::string>;

// Standardised rows in memory, as they are given out.
class TableDataset : public Dataset {
 public:
  // features (count, F), which become the column's dtype.
  TableDataset(fs::path path, SampleSpec spec, const std::vector<double>& features,
               EncodedTargets targets, const BrokenRows& broken);

  const SampleSpec& spec() const override { return spec_; }
  int64_t count() const override { return std::ssize(targets_.kept); }
  void read(std::span<const int64_t> samples, int64_t epoch,
            std::span<std::byte* const> columns) const override;
  int64_t skipped() const override { return broken_.count(); }
  std::vector<std::string> problems() const override { return broken_.first(); }
  std::vector<fs::path> files() const override { return {path_}; }

 private:
  fs::path path_;
  SampleSpec spec_;
  std::vector<std::byte> features_;  // (count, F) of the column's dtype
  EncodedTargets targets_;           // of the kept rows
  BrokenRows broken_;
};

template <typename T>
std::vector<std::byte> bytes_as(const std::vector<double>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  auto* out = reinterpret_cast<T*>(bytes.data());
  for (double number : numbers) *out++ = T(number);
  return bytes;
}

TableDataset::TableDataset(fs::path path, SampleSpec spec, const std::vector<double>& features,
                           EncodedTargets targets, const BrokenRows& broken)
    : path_(std::move(path)),
      spec_(std::move(spec)),
      targets_(std::move(targets)),
      broken_(broken) {
  DType dtype = spec_.columns[0].dtype;
  if (dtype == DType::f64) {
    features_ = bytes_as<double>(features);
  } else {
    with_any_float_type(dtype, [&](auto type) { features_ = bytes_as<decltype(type)>(features); });
  }
}

void TableDataset::read(std::span<const int64_t> samples, int64_t,
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

// One part of the data: rows of a file, those that are used, and what was left out.
struct Part {
  fs::path path;
  const CsvRows& rows;
  EncodedTargets targets;
  BrokenRows broken;
};

// Deviations below this part of the mean are a constant's own rounding.
constexpr double rounding = 1e-13;

// Over the used rows, in their order, in fp64. A constant feature becomes 0.
Normalization normalization_of(const Part& part, const CsvLayout& layout) {
  size_t features = layout.features.size();
  auto n = static_cast<double>(part.targets.kept.size());
  Normalization result = {std::vector<double>(features), std::vector<double>(features)};
  auto add_up = [&](std::vector<double>& sums, auto&& term) {
    for (size_t row : part.targets.kept)
      for (size_t f = 0; f < features; ++f)
        sums[f] += term(part.rows.features[row * features + f], f) / n;
  };
  add_up(result.mean, [](double x, size_t) { return x; });
  add_up(result.stddev,
         [&](double x, size_t f) { return (x - result.mean[f]) * (x - result.mean[f]); });
  for (size_t f = 0; f < features; ++f) {
    result.stddev[f] = std::sqrt(result.stddev[f]);
    if (result.stddev[f] <= rounding * std::abs(result.mean[f])) result.stddev[f] = 1.0;
    if (!std::isfinite(result.mean[f]) || !std::isfinite(result.stddev[f]))
      fail(Category::data,
           "{}: the numbers of {} are too large to be standardized; scale them down",
           part.path.string(), layout.name_of(layout.features[f]));
  }
  return result;
}

// Of the used rows, as floats: bf16 is rounded from these.
std::vector<double> standardised(const Part& part, const Normalization& normalization) {
  size_t features = normalization.mean.size();
  std::vector<double> result;
  result.reserve(part.targets.kept.size() * features);
  for (size_t row : part.targets.kept)
    for (size_t f = 0; f < features; ++f)
      result.push_back(
          static_cast<float>((part.rows.features[row * features + f] - normalization.mean[f]) /
                             normalization.stddev[f]));
  return result;
}

// The same as they are.
std::vector<double> stored(const Part& part, size_t features) {
  std::vector<double> result;
  result.reserve(part.targets.kept.size() * features);
  for (size_t row : part.targets.kept)
    result.insert(result.end(), part.rows.features.begin() + std::ptrdiff_t(row * features),
                  part.rows.features.begin() + std::ptrdiff_t((row + 1) * features));
  return result;
}

SampleSpec spec_of(const CsvLayout& layout, const CsvTargets& targets,
                   const Normalization& normalization, DType dtype) {
  SampleSpec spec;
  spec.columns.push_back({"features", {std::ssize(layout.features)}, dtype});
  if (targets.values) {
    spec.columns.push_back({"values", {1}, DType::f32});
  } else {
    spec.columns.push_back({"labels", {}, DType::i32});
    spec.classes = std::ssize(targets.class_names);
    spec.class_names = targets.class_names;
  }
  spec.normalization = normalization;
  if (layout.header)
    for (size_t column : layout.features) spec.feature_names.push_back(layout.names[column]);
  return spec;
}

DatasetPair pair_of(Part train, Part test, const CsvLayout& layout, const CsvTargets& targets,
                    DType dtype, Notes notes) {
  for (const Part* part : {&train, &test})
    if (part->targets.kept.empty())
      fail(Category::data, "{}: no row is left for the {}; add rows or change data.csv.test_share",
           part->path.string(), part == &train ? "training" : "test");
  Normalization normalization = normalization_of(train, layout);
  SampleSpec spec = spec_of(layout, targets, normalization, dtype);
  auto dataset = [&](Part& part) {
    return std::make_unique<TableDataset>(part.path, spec,
                                          dtype == DType::f64
                                              ? stored(part, normalization.mean.size())
                                              : standardised(part, normalization),
                                          std::move(part.targets), part.broken);
  };
  return {dataset(train), dataset(test), std::move(notes)};
}

// The rows of `all` that are, or are not, for the test.
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

DatasetPair open_one_file(const fs::path& path, const DataConfig& config, DType dtype) {
  CsvLayout layout = csv_layout(path, config.csv);
  BrokenRows broken(config.on_error);
  CsvRows rows = read_csv_rows(path, layout, broken);
  Notes notes = leave_out_row_numbers(path, config.csv, layout, rows);
  CsvTargets targets = csv_targets(path, rows, config.csv, notes);
  EncodedTargets all = encode_targets(path, rows, targets, broken);
  double share = config.csv.test_share;
  return pair_of({path, rows, rows_for(false, all, rows, share), broken},
                 {path, rows, rows_for(true, all, rows, share), BrokenRows(config.on_error)},
                 layout, targets, dtype, std::move(notes));
}

DatasetPair open_two_files(const fs::path& train_path, const fs::path& test_path,
                           const DataConfig& config, DType dtype) {
  CsvLayout layout = csv_layout(train_path, config.csv);
  BrokenRows train_broken(config.on_error), test_broken(config.on_error);
  CsvRows train = read_csv_rows(train_path, layout, train_broken);
  Notes notes = leave_out_row_numbers(train_path, config.csv, layout, train);
  CsvRows test = read_csv_rows(test_path, layout, test_broken);
  CsvTargets targets = csv_targets(train_path, train, config.csv, notes);
  EncodedTargets train_targets = encode_targets(train_path, train, targets, train_broken);
  EncodedTargets test_targets = encode_targets(test_path, test, targets, test_broken);
  return pair_of({train_path, train, std::move(train_targets), train_broken},
                 {test_path, test, std::move(test_targets), test_broken}, layout, targets, dtype,
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
    return open_one_file(existing_input(config.path), config, dtype);
  fs::path folder = config.path;
  fs::path train = existing_input(folder / "train.csv"), test = find_input(folder / "test.csv");
  if (test.empty()) return open_one_file(train, config, dtype);
  return open_two_files(train, test, config, dtype);
}

bool is_test_row(int64_t number, double test_share) {
  RandomStream draw(0, Purpose::test_split, 0, static_cast<uint64_t>(number));
  return draw.uniform(0) < test_share;
}

}  // namespace spire::inline data

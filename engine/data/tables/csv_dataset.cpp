// Tables in CSV, Parquet and Arrow files as datasets. data.path is a folder with train.csv,
// test.csv and val.csv (or train.parquet and so on), or one file (also a folder with train.csv
// alone), whose rows data.csv.test_share splits. Columns: features (F), from all columns but the
// target, numbers standardized by the training rows and words as ones and zeros; and labels (), or
// values (1).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/text.h"
#include "engine/config/words.h"
#include "engine/data/dataset_table.h"
#include "engine/data/input_file.h"
#include "engine/data/part_names.h"
#include "engine/data/tables/csv_columns.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Notes = std::vector<std::string>;

// Training, test or validation data: the rows of a file, the encoded ones among them, and the
// rejected ones.
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
  void reject(const Split& split, const EncodedRow& row, size_t column);

  fs::path path_;
  SampleSpec spec_;
  std::vector<std::byte> features_;  // (count, F) of the column's dtype
  std::vector<uint32_t> targets_;    // (count), bits of int32_t or float
  RejectedRows rejected_;
};

CsvDataset::CsvDataset(Split split, SampleSpec spec)
    : path_(split.path), spec_(std::move(spec)), rejected_(split.rejected) {
  DType dtype = spec_.columns[0].dtype;
  if (dtype == DType::f64) {
    fill_features<double>(split);
  } else {
    with_any_float_type(dtype, [&](auto type) { fill_features<decltype(type)>(split); });
  }
}

template <typename T>
void CsvDataset::fill_features(const Split& split) {
  // Features of f64 are the stored numbers.
  Normalization by = std::is_same_v<T, double> ? Normalization() : spec_.normalization;
  auto width = static_cast<size_t>(spec_.columns[0].shape.elements());
  size_t columns = spec_.table.size();
  features_.resize(split.encoded.size() * width * sizeof(T));
  auto* out = reinterpret_cast<T*>(features_.data());
  for (const EncodedRow& each : split.encoded) {
    std::span<const double> values(&split.rows.values[each.row * columns], columns);
    write_features(spec_.table, values, by, out);
    if (auto column = infinite_column(spec_.table, out)) {
      reject(split, each, *column);
      continue;
    }
    targets_.push_back(each.target);
    out += width;
  }
  features_.resize(targets_.size() * width * sizeof(T));
  if (targets_.empty())
    fail(Category::data, "{}: no row is left whose features are finite as the model reads them",
         path_.string());
}

// The column of the file is not known any more: the name of the table's says which it is.
void CsvDataset::reject(const Split& split, const EncodedRow& row, size_t column) {
  const std::string& name = spec_.table[column].name;
  rejected_.add(
      path_, {split.rows.positions[row.row].line, 1},
      fmt::format("{}: {:.6g} is too large: standardized by the training rows it is not finite",
                  name.empty() ? fmt::format("feature {}", column) : fmt::format("'{}'", name),
                  split.rows.values[row.row * spec_.table.size() + column]));
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

// Returns mean and standard deviation of numbers, summed in their order in fp64. A constant gets
// deviation 1 and so becomes 0.
std::pair<double, double> statistics_of(const std::vector<double>& numbers) {
  auto n = static_cast<double>(numbers.size());
  double mean = 0, variance = 0;
  for (double x : numbers) mean += x / n;
  for (double x : numbers) variance += (x - mean) * (x - mean) / n;
  double stddev = std::sqrt(variance);
  return {mean, stddev <= rounding * std::abs(mean) ? 1.0 : stddev};
}

// Appends the statistics of a feature or target.
void add_statistics(const std::vector<double>& numbers, Normalization& result) {
  auto [mean, stddev] = statistics_of(numbers);
  result.mean.push_back(mean);
  result.stddev.push_back(stddev);
}

// Statistics of the kept rows. Words, which are zeros and ones, stay as they are.
Normalization normalization_of(const Split& split, const CsvLayout& layout) {
  Normalization result;
  size_t columns = layout.table.size();
  std::vector<double> numbers(split.encoded.size()), parts(numbers.size());
  for (size_t c = 0; c < columns; ++c) {
    if (size_t levels = layout.table[c].levels.size(); levels > 0) {
      result.mean.insert(result.mean.end(), levels, 0.0);
      result.stddev.insert(result.stddev.end(), levels, 1.0);
      continue;
    }
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = split.rows.values[split.encoded[i].row * columns + c];
    if (!layout.table[c].has_dates()) {
      add_statistics(numbers, result);
      continue;
    }
    for (size_t part = 0; part < date_parts.size(); ++part) {
      std::ranges::transform(numbers, parts.begin(),
                             [&](double seconds) { return parts_of_date(seconds)[part]; });
      add_statistics(parts, result);
    }
  }
  return result;
}

Normalization target_scale_of(const Split& split) {
  Normalization result;
  std::vector<double> numbers;
  for (const EncodedRow& each : split.encoded)
    numbers.push_back(double{std::bit_cast<float>(each.target)});
  add_statistics(numbers, result);
  return result;
}

SampleSpec spec_of(const CsvLayout& layout, const CsvTargets& targets, DType dtype) {
  SampleSpec spec;
  int64_t features = 0;
  for (const TableColumn& column : layout.table) features += column.features();
  spec.columns.push_back({"features", {features}, dtype});
  if (targets.regression) {
    spec.columns.push_back({"values", {1}, DType::f32});
  } else {
    spec.columns.push_back({"labels", {}, DType::i32});
    spec.classes = std::ssize(targets.class_names);
    spec.class_names = targets.class_names;
  }
  if (layout.header) spec.feature_names = feature_names(layout.table);
  spec.table = layout.table;
  spec.target = layout.target_column;
  return spec;
}

// Notes how many rows have words that the training rows lack. kind: "test row".
void note_unknown_words(const Split& test, const char* kind, const CsvLayout& layout,
                        Notes& notes) {
  for (size_t c = 0; c < layout.table.size(); ++c) {
    auto unknown = std::ranges::count_if(test.encoded, [&](const EncodedRow& each) {
      return test.rows.values[each.row * layout.table.size() + c] < 0;
    });
    if (layout.table[c].levels.empty() || unknown == 0) continue;
    notes.push_back(fmt::format(
        "{}: {} with a word in {} that no training row has; it counts as "
        "none of the known words",
        test.path.string(), counted(unknown, kind), layout.name_of(layout.features[c])));
  }
}

// Refuses targets that fp32 tells apart badly, and warns where it costs digits.
void check_target_steps(const Split& split, const CsvLayout& layout, Notes& notes) {
  constexpr double least_steps = 8, good_steps = 1000;
  std::vector<double> numbers;
  double most = 0;
  for (const EncodedRow& each : split.encoded) {
    numbers.push_back(finite_number(split.rows.targets[each.row]).value_or(0));
    most = std::max(most, std::abs(numbers.back()));
  }
  if (std::ranges::adjacent_find(numbers, std::not_equal_to()) == numbers.end()) return;
  auto largest = std::min(static_cast<float>(most), std::nextafter(INFINITY, 0.0f));
  double step = double{largest} - double{std::nextafter(largest, 0.0f)};
  double stddev = statistics_of(numbers).second;
  if (!(stddev < good_steps * step)) return;
  std::string text = fmt::format(
      "{}: the target {} lies near {:.4g}, where fp32 has steps of {:.4g}, and differs by only "
      "{:.4g} (its standard deviation): subtract an offset from it",
      split.path.string(), layout.name_of(layout.target), most, step, stddev);
  if (stddev < least_steps * step) fail(Category::data, "{}", text);
  notes.push_back(std::move(text));
}

// Scales features and target as the training rows say, or as for a model that is trained already.
void set_scales(const Split& train, const CsvLayout& layout, bool scale_target,
                const SampleSpec* trained, SampleSpec& spec) {
  bool scaled = scale_target && spec.find("values") != nullptr;
  spec.normalization = trained ? trained->normalization : normalization_of(train, layout);
  spec.target_scale = trained  ? trained->target_scale
                      : scaled ? target_scale_of(train)
                               : Normalization();
}

std::vector<EncodedRow> take_test_rows(const CsvRows& rows, double share,
                                       std::vector<EncodedRow>& encoded) {
  // clang 14 does not compile the algorithms of libstdc++ 12 that return a subrange.
  auto chosen = std::stable_partition(encoded.begin(), encoded.end(), [&](const EncodedRow& each) {
    return !is_test_row(rows.numbers[each.row], share);
  });
  std::vector<EncodedRow> test(chosen, encoded.end());
  encoded.erase(chosen, encoded.end());
  return test;
}

void require_rows(const Split& split, const char* use) {
  if (split.encoded.empty())
    fail(Category::data, "{}: no row is left for the {}; add rows or change data.csv.test_share",
         split.path.string(), use);
}

std::map<std::string, std::string> found_of(const CsvLayout& layout) {
  using Separator = CsvConfig::Separator;
  Separator separator = layout.separator == ','    ? Separator::comma
                        : layout.separator == ';'  ? Separator::semicolon
                        : layout.separator == '\t' ? Separator::tab
                        : layout.separator == '|'  ? Separator::pipe
                        : layout.separator == ' '  ? Separator::space
                                                   : Separator::automatic;
  return {{"data.csv.header", layout.header ? "true" : "false"},
          {"data.csv.separator", std::string(word_of(separator))}};
}

struct TableFiles {
  fs::path train, test = {}, val = {};  // without `test` a share of the training rows is test data
};

// Finds the columns, and how they are read, from the training rows; a trained model reads them as
// it was taught. Returns whether it is one. share: of the test rows in the file.
bool choose_columns(const TableFiles& files, const DataConfig& config, const ReadOptions& options,
                    double share, CsvLayout& layout, Notes& notes) {
  bool known = options.trained && take_trained_columns(*options.trained, config.csv, layout);
  if (known && !std::ranges::is_sorted(layout.features))
    notes.push_back(
        fmt::format("{}: the columns are in another order than the model was trained "
                    "with; they are matched by name",
                    files.train.string()));
  if (!known)
    find_columns(
        files.train, config.csv, [&](int64_t number) { return !is_test_row(number, share); },
        layout, notes);
  return known;
}

// Opens the files of a set. Rows are read before their columns of no use are known.
DatasetPair open_files(const TableFiles& files, const DataConfig& config,
                       const ReadOptions& options) {
  CsvLayout layout = csv_layout(files.train, config.csv);
  RejectedRows train_rejected(config.on_error), test_rejected = train_rejected,
                                                val_rejected = train_rejected;
  Notes notes;
  bool one_file = files.test.empty();
  bool all_test = one_file && options.all_test;
  double share = one_file && !all_test ? config.csv.test_share : 0;
  bool known = choose_columns(files, config, options, share, layout, notes);
  CsvRows train = read_csv_rows(files.train, layout, train_rejected), test, val;
  if (!known)
    std::ranges::move(remove_row_numbers(files.train, config.csv, layout, train),
                      std::back_inserter(notes));
  if (!one_file) test = read_csv_rows(files.test, layout, test_rejected);
  if (!files.val.empty()) val = read_csv_rows(files.val, layout, val_rejected);
  CsvConfig asked = config.csv;
  if (options.trained && options.trained->find("values") && asked.task == TargetKind::automatic)
    asked.task = TargetKind::values;  // a few other rows may look like classes
  CsvTargets targets = options.trained_classes ? trained_targets(*options.trained)
                                               : csv_targets(files.train, train, asked, notes);
  auto encoded = [&](const fs::path& path, const CsvRows& rows, RejectedRows& rejected) {
    return Split{path, rows, encode_targets(path, rows, targets, rejected), rejected};
  };
  Split training = encoded(files.train, train, train_rejected);
  Split testing = one_file ? Split{files.train, train, {}, test_rejected}
                           : encoded(files.test, test, test_rejected);
  Split validation = encoded(files.val, val, val_rejected);
  if (all_test) {
    testing.encoded = training.encoded;
    testing.rejected = training.rejected;
    notes.push_back(all_test_note(files.train.string(), counted(std::ssize(testing.encoded), "row"),
                                  "data.csv.test_share"));
  } else if (one_file) {
    testing.encoded = take_test_rows(train, share, training.encoded);
  }
  require_rows(training, "training");
  require_rows(testing, "test");
  if (!files.val.empty()) require_rows(validation, "validation");
  if (targets.regression && !options.trained) check_target_steps(training, layout, notes);
  if (!known) choose_blanks(config.csv, train, training.encoded, layout, notes);
  for (CsvRows* rows : {&train, &test, &val}) fill_blanks(layout, *rows);
  note_unknown_words(testing, "test row", layout, notes);
  note_unknown_words(validation, "validation row", layout, notes);
  SampleSpec spec = spec_of(layout, targets, options.as_stored ? DType::f64 : options.dtype);
  set_scales(training, layout, config.csv.scale_target, known ? options.trained.get() : nullptr,
             spec);
  DatasetPair pair = {std::make_unique<CsvDataset>(std::move(training), spec),
                      std::make_unique<CsvDataset>(std::move(testing), spec), std::move(notes)};
  pair.found = found_of(layout);
  if (!files.val.empty()) pair.val = std::make_unique<CsvDataset>(std::move(validation), spec);
  return pair;
}

// Opens the tables of a folder whose names say which data they are.
DatasetPair open_folder(const DataConfig& config, const ReadOptions& options) {
  fs::path folder = config.path;
  PartNames parts = choose_parts(config.path, tables_in(folder), config.val, table_stem);
  if (parts.train.empty())
    fail(Category::data,
         "{}: has no train.csv, and no train.parquet, train.arrow or train.feather; set data.path "
         "to a folder with one, or to a file",
         config.path);
  TableFiles files = {.train = folder / parts.train};
  if (!parts.test.empty()) files.test = folder / parts.test;
  if (!parts.val.empty()) files.val = folder / parts.val;
  DatasetPair pair = open_files(files, config, options);
  pair.notes.insert(pair.notes.begin(), parts.notes.begin(), parts.notes.end());
  return pair;
}

}  // namespace

DatasetPair open_csv(const DataConfig& config, const ReadOptions& options) {
  std::error_code error;
  if (fs::is_directory(config.path, error)) return open_folder(config, options);
  return open_files({.train = existing_input(config.path)}, config, options);
}

}  // namespace spire

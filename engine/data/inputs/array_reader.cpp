// Arrays in .npy, .npz and HDF5 files as rows of a model's input. The config names the arrays of an
// HDF5 file (hdf5.test) and of a .npz file (npy.test); a name that the file lacks is looked for as
// "auto" is, among test samples, then among those without a split, then among training samples. The
// single array of a .npz file is the input, whatever it is called.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "engine/base/fail.h"
#include "engine/base/npy_magic.h"
#include "engine/base/text.h"
#include "engine/data/formats/hdf5_file.h"
#include "engine/data/formats/hdf5_table.h"
#include "engine/data/formats/row_dataset.h"
#include "engine/data/inputs/file_reader.h"
#include "engine/data/numpy/npy_array.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

// Names of the input and of the target, "" if there is none.
struct NamesInSet {
  std::string input, target;
};

// Returns the name that the config gives an array, if the set has it; else "auto".
std::string usable(const NpySet& set, const std::string& configured) {
  return configured != "auto" && set.has(configured) ? configured : "auto";
}

NamesInSet names_in(const NpySet& set, const NpyConfig& config) {
  std::vector<std::string> all = set.names();
  for (const auto& [part, names] :
       {std::pair{Part::test, &config.test}, {Part::train, &config.train}}) {
    auto input = find_array(set, NpyRole::input, part, usable(set, names->input));
    if (!input) continue;
    auto target = find_array(set, NpyRole::target, part, usable(set, names->target));
    return {*input, target.value_or("")};
  }
  if (all.size() == 1) return {all.front(), ""};
  return {require_array(set, NpyRole::input, Part::test, "auto"), ""};  // throws
}

std::unique_ptr<RowTable> open_table(const fs::path& path, const InputContext& context) {
  using Rows = std::vector<int64_t>;
  if (is_zip(path)) {
    NpySet set(path);
    NamesInSet names = names_in(set, context.config.npy);
    return std::make_unique<NpyTable>(
        set.open(names.input), names.target.empty() ? nullptr : set.open(names.target), Rows());
  }
  if (!is_hdf5(path))
    return std::make_unique<NpyTable>(std::make_shared<NpyArray>(path), nullptr, Rows());
  Hdf5CheckResult checked = check_hdf5_samples(path, context.config.hdf5.test);
  for (const std::string& text : checked.notes) context.report.note(text);
  auto table = std::make_unique<Hdf5Table>(path, context.config.hdf5.test);
  require_unchanged(path, checked.stamp, table->stamp());  // what is open is what was checked
  return table;
}

// Returns how rows of the array are read for the column, whatever it is called.
StoredRow stored_row(const StoredArray& stored, const Column& column) {
  StoredRow row{.locations = {stored.location}};
  if (column.name == "tokens") row.input = DType::i32;
  if (column.name == "features" && !stored.exact) row.input = DType::f64;
  if (column.name == "images" && stored.numbers == Numbers::bytes) row.input = DType::u8;
  if (column.name == "images" && stored.numbers == Numbers::words16) row.unit = 1.0 / 65535;
  return row;
}

// Throws Error(data) unless the inputs have the column's shape; grey images may lack the axis of
// channels.
void check_inputs(const RowTable& table, const Column& column) {
  StoredArray stored = table.stored(0);
  std::vector<int64_t> row = stored.row;
  if (column.name == "images" && row.size() == 2) row.push_back(1);
  bool floats = stored.numbers == Numbers::floats;
  if (row.size() <= Shape::max_rank && Shape(row) == column.shape &&
      !(floats && column.name == "tokens"))
    return;
  fail(Category::data, "{}: it is {}, but the model reads {} of shape {} a row; correct the array",
       stored.location, table.layout()[0], column.name, to_string(column.shape));
}

// Throws Error(data) where the file has the model's features in another order, or others.
void check_features(const RowTable& table, const SampleSpec& spec) {
  std::vector<std::string> names = table.words(0, "feature_names");
  if (names.empty() || spec.feature_names.empty() || names == spec.feature_names) return;
  fail(Category::data,
       "{}: its feature_names are {}, but the model reads {}; bring the columns into that order",
       table.stored(0).location, quoted_list(names), quoted_list(spec.feature_names));
}

// Returns the column of the spec for which the file has targets; null: it has none, or the model
// finds neither classes nor values. Throws Error(data) where they do not fit.
const Column* target_of(const RowTable& table, const SampleSpec& spec) {
  const Column *labels = spec.find("labels"), *values = spec.find("values");
  const Column* target = labels ? labels : values;
  if (!table.has_target() || target == nullptr) return nullptr;
  StoredArray stored = table.stored(1);
  int64_t expected = labels ? 1 : values->shape.elements(), found = 1;
  for (int64_t dim : stored.row) found *= dim;
  if (found == expected && !(labels && stored.numbers == Numbers::floats)) return target;
  fail(Category::data,
       "{}: it is {}, but the model finds {}; correct the array, or name another one by "
       "data.npy.test.target or data.hdf5.test.target",
       stored.location, table.layout()[1],
       labels ? "a class, a whole number, for each row"
              : fmt::format("{} a row", counted(expected, "value")));
}

// Returns the model's numbers of the file's classes, which may be in another order; empty: one of
// both does not name them.
std::vector<int64_t> class_numbers(const RowTable& table, const SampleSpec& spec) {
  std::vector<int64_t> numbers;
  if (spec.class_names.empty()) return numbers;
  for (const std::string& name : table.words(1, "class_names")) {
    std::optional<int64_t> number = class_named(spec, name);
    if (!number)
      fail(Category::data, "{}: its class '{}' is none of the model's: {}", table.location(1), name,
           quoted_list(spec.class_names));
    numbers.push_back(*number);
  }
  return numbers;
}

class ArrayReader : public FileReader {
 public:
  explicit ArrayReader(const InputContext& context) : context_(context) {}

  void open(const fs::path& path) override {
    const SampleSpec& spec = context_.spec;
    table_ = open_table(path, context_);
    row_ = 0;
    Column input = spec.columns[0];
    check_inputs(*table_, input);
    check_features(*table_, spec);
    target_ = target_of(*table_, spec);
    numbers_ = target_ && target_->name == "labels" ? class_numbers(*table_, spec)
                                                    : std::vector<int64_t>();
    StoredRow row = stored_row(table_->stored(0), input);
    input.dtype = row.input;
    input_.resize(input.row_bytes());
    table_->set_columns({input, target_ ? *target_ : Column()}, row.unit);
    // The decoder of the input alone: rows to predict for need no target.
    decoder_.emplace(spec, std::move(row), DataConfig{}, AugmentConfig{}, StoredSizing{},
                     ReadOptions{.dtype = spec.columns[0].dtype});
  }

  std::optional<RowOrigin> next(std::byte* out) override {
    if (row_ == table_->count()) return {};
    RowOrigin origin = {.file = {}, .row = row_++, .only = false};
    table_->read(origin.row, 1, std::array<std::byte*, 2>{input_.data(), nullptr});
    decoder_->write_input(input_.data(), origin.row, 0, out);
    if (target_ != nullptr) add_truth(origin);
    return origin;
  }

 private:
  void read_target(int64_t row, void* out) const {
    table_->read(row, 1, std::array<std::byte*, 2>{nullptr, static_cast<std::byte*>(out)});
  }

  void add_truth(RowOrigin& origin) const {
    if (target_->name == "values") return add_values(origin);
    int32_t label = 0;
    read_target(origin.row, &label);
    int64_t classes = numbers_.empty() ? context_.spec.classes : std::ssize(numbers_);
    if (label < 0 || label >= classes)
      fail(Category::data, "{}: sample {}: label {}, expected 0 to {}", table_->location(1),
           origin.row, label, classes - 1);
    origin.label = numbers_.empty() ? label : numbers_[static_cast<size_t>(label)];
  }

  void add_values(RowOrigin& origin) const {
    origin.values.resize(static_cast<size_t>(target_->shape.elements()));
    read_target(origin.row, origin.values.data());
    for (size_t i = 0; i < origin.values.size(); ++i)
      if (!std::isfinite(origin.values[i]))
        fail(Category::data, "{}: sample {}: value {} is {}", table_->location(1), origin.row, i,
             unsigned_nan(origin.values[i]));
  }

  const InputContext& context_;
  std::unique_ptr<RowTable> table_;
  const Column* target_ = nullptr;  // of the spec; null: the file says nothing of its rows
  std::vector<int64_t> numbers_;    // of the file's classes, in the model; empty: as they are
  std::optional<RowDecoder> decoder_;
  int64_t row_ = 0;               // the next one
  std::vector<std::byte> input_;  // numbers of a row
};

}  // namespace

bool is_array_file(const fs::path& path) {
  return begins_with(path, npy_magic) || is_zip(path) || is_hdf5(path);
}

std::unique_ptr<FileReader> array_reader(const InputContext& context) {
  return std::make_unique<ArrayReader>(context);
}

}  // namespace spire

// Reads the user's arrays, in .npy, .npz and HDF5 files, as rows of a model's input.
#include <algorithm>
#include <cmath>
#include <utility>

#include <spire/error.h>
#include <spire/text.h>

#include "engine/data/formats/row_decoder.h"
#include "engine/inference/input_rows.h"
#include "engine/inference/sample_arrays.h"

namespace spire::inline inference {
namespace {

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
void check_inputs(const SampleArrays& arrays, const Column& column) {
  StoredArray stored = arrays.stored(0);
  std::vector<int64_t> row = stored.row;
  if (column.name == "images" && row.size() == 2) row.push_back(1);
  bool floats = stored.numbers == Numbers::floats;
  if (row.size() <= Shape::max_rank && Shape(row) == column.shape &&
      !(floats && column.name == "tokens"))
    return;
  fail(Category::data, "{}: it is {}, but the model reads {} of shape {} a row; correct the array",
       stored.location, arrays.layout(0), column.name, to_string(column.shape));
}

// Throws Error(data) where the file has the model's features in another order, or others.
void check_features(const SampleArrays& arrays, const SampleSpec& spec) {
  std::vector<std::string> names = arrays.feature_names();
  if (names.empty() || spec.feature_names.empty() || names == spec.feature_names) return;
  fail(Category::data,
       "{}: its feature_names are {}, but the model reads {}; bring the columns into that order",
       arrays.stored(0).location, quoted_list(names), quoted_list(spec.feature_names));
}

// What the file's targets say of its rows, for models that find classes or values.
class Truth {
 public:
  // Throws Error(data) where targets do not fit the model's.
  Truth(SampleArrays& arrays, const SampleSpec& spec)
      : arrays_(arrays), classes_(spec.classes), labels_(spec.find("labels") != nullptr) {
    const Column* values = spec.find("values");
    if (!arrays.has_target() || (!labels_ && values == nullptr)) return;
    StoredArray stored = arrays.stored(1);
    int64_t expected = labels_ ? 1 : values->shape.elements(), found = 1;
    for (int64_t dim : stored.row) found *= dim;
    if (found != expected || (labels_ && stored.numbers == Numbers::floats))
      fail(Category::data,
           "{}: it is {}, but the model finds {}; correct the array, or name another one by "
           "data.npy.test.target or data.hdf5.test.target",
           stored.location, arrays.layout(1),
           labels_ ? "a class, a whole number, for each row"
                   : fmt::format("{} a row", counted(expected, "value")));
    location_ = stored.location;
    width_ = static_cast<size_t>(expected);
    if (labels_) number_classes(spec);
  }

  void add(int64_t row, RowOrigin& origin) {
    if (width_ == 0) return;
    if (!labels_) return add_values(row, origin);
    int32_t label = 0;
    arrays_.read(1, row, DType::i32, reinterpret_cast<std::byte*>(&label));
    int64_t classes = numbers_.empty() ? classes_ : std::ssize(numbers_);
    if (label < 0 || label >= classes)
      fail(Category::data, "{}: sample {}: label {}, expected 0 to {}", location_, row, label,
           classes - 1);
    origin.label = numbers_.empty() ? label : numbers_[static_cast<size_t>(label)];
  }

 private:
  void add_values(int64_t row, RowOrigin& origin) {
    origin.values.resize(width_);
    arrays_.read(1, row, DType::f32, reinterpret_cast<std::byte*>(origin.values.data()));
    for (size_t i = 0; i < width_; ++i)
      if (!std::isfinite(origin.values[i]))
        fail(Category::data, "{}: sample {}: value {} is {}", location_, row, i,
             unsigned_nan(origin.values[i]));
  }

  // Where the file names its classes, they may be in another order than the model's.
  void number_classes(const SampleSpec& spec) {
    if (spec.class_names.empty()) return;
    for (const std::string& name : arrays_.class_names()) {
      std::optional<int64_t> number = class_named(spec, name);
      if (!number)
        fail(Category::data, "{}: its class '{}' is none of the model's: {}", location_, name,
             quoted_list(spec.class_names));
      numbers_.push_back(*number);
    }
  }

  SampleArrays& arrays_;
  int64_t classes_;
  bool labels_;
  std::string location_;
  size_t width_ = 0;              // numbers a row; 0: the file says nothing
  std::vector<int64_t> numbers_;  // of the file's classes, in the model; empty: as they are
};

class ArrayRows : public InputRows {
 public:
  ArrayRows(std::vector<ListedInput> files, SampleSpec spec, DataConfig config, InputReport report)
      : files_(std::move(files)),
        spec_(std::move(spec)),
        config_(std::move(config)),
        report_(std::move(report)) {}

  std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) override {
    std::vector<RowOrigin> origins;
    while (std::ssize(origins) < max_rows && (arrays_ || next_ < files_.size()))
      if (auto origin = read_next(rows + origins.size() * spec_.columns[0].row_bytes()))
        origins.push_back(std::move(*origin));
    return origins;
  }

 private:
  // Returns nothing where there was a problem, and where a file was only opened or has ended.
  std::optional<RowOrigin> read_next(std::byte* out) {
    if (!arrays_) {
      const std::filesystem::path& path = files_[next_++].path;
      if (!try_reading(report_, [&] { open(path); })) close();
      return {};
    }
    if (row_ == arrays_->rows()) {
      close();
      return {};
    }
    int64_t row = row_++;
    RowOrigin origin = {.file = files_[next_ - 1], .row = row, .only = false};
    bool good = try_reading(report_, [&] {
      arrays_->read(0, row, stored_, input_.data());
      decoder_->write_input(input_.data(), row, 0, out);
      truth_->add(row, origin);
    });
    if (!good) return {};
    return origin;
  }

  void open(const std::filesystem::path& path) {
    arrays_ = open_sample_arrays(path, config_, report_.note);
    row_ = 0;
    const Column& column = spec_.columns[0];
    check_inputs(*arrays_, column);
    check_features(*arrays_, spec_);
    truth_.emplace(*arrays_, spec_);
    StoredRow row = stored_row(arrays_->stored(0), column);
    stored_ = row.input;
    input_.resize(static_cast<size_t>(column.shape.elements()) * size_of(stored_));
    // The decoder of the input alone: rows to predict for need no target.
    decoder_.emplace(spec_, std::move(row), DataConfig{}, AugmentConfig{}, StoredSizing{},
                     ReadOptions{.dtype = column.dtype});
  }

  void close() {
    truth_.reset();
    arrays_.reset();
  }

  std::vector<ListedInput> files_;
  SampleSpec spec_;
  DataConfig config_;
  InputReport report_;

  size_t next_ = 0;                       // index in files_ of the next file
  std::unique_ptr<SampleArrays> arrays_;  // of files_[next_ - 1], while it has rows
  std::optional<Truth> truth_;            // reads arrays_
  std::optional<RowDecoder> decoder_;
  DType stored_ = DType::f32;     // of the inputs as they are read
  int64_t row_ = 0;               // the next one
  std::vector<std::byte> input_;  // numbers of a row
};

}  // namespace

std::unique_ptr<InputRows> open_array_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const DataConfig& config, const InputReport& report) {
  return std::make_unique<ArrayRows>(std::move(files), spec, config, report);
}

}  // namespace spire::inline inference

// Reads the user's arrays in .npy files as rows of a model's input.
#include <utility>

#include <spire/error.h>

#include "engine/base/npy_magic.h"
#include "engine/data/formats/npy_array.h"
#include "engine/data/formats/row_decoder.h"
#include "engine/inference/input_rows.h"

namespace spire::inline inference {
namespace {



// Returns how rows of the array are read for the column, whatever the file is called.
StoredRow stored_row(const NpyArray& array, const Column& column) {
  StoredArray stored = array.stored();
  StoredRow row{.locations = {stored.location}};
  if (column.name == "tokens") row.input = DType::i32;
  if (column.name == "features" && !stored.exact) row.input = DType::f64;
  if (column.name == "images" && stored.numbers == Numbers::bytes) row.input = DType::u8;
  if (column.name == "images" && stored.numbers == Numbers::words16) row.unit = 1.0 / 65535;
  return row;
}

// Throws Error(data) unless the array's rows have the column's shape; grey images may lack the axis
// of channels.
void check_rows(const NpyArray& array, const Column& column) {
  std::vector<int64_t> row = array.stored().row;
  if (column.name == "images" && row.size() == 2) row.push_back(1);
  bool floats = array.stored().numbers == Numbers::floats;
  if (row.size() <= Shape::max_rank && Shape(row) == column.shape &&
      !(floats && column.name == "tokens"))
    return;
  fail(Category::data, "{}: it is {}, but the model reads {} of shape {} a row; correct the array",
       array.location(), array.layout(), column.name, to_string(column.shape));
}

class ArrayRows : public InputRows {
 public:
  ArrayRows(std::vector<ListedInput> files, SampleSpec spec, InputReport report)
      : files_(std::move(files)), spec_(std::move(spec)), report_(std::move(report)) {}

  std::vector<RowOrigin> read(int64_t max_rows, std::byte* rows) override {
    std::vector<RowOrigin> origins;
    while (std::ssize(origins) < max_rows && (array_ || next_ < files_.size()))
      if (auto origin = read_next(rows + origins.size() * spec_.columns[0].row_bytes()))
        origins.push_back(std::move(*origin));
    return origins;
  }

 private:
  // Returns nothing where there was a problem, and where a file was only opened or has ended.
  std::optional<RowOrigin> read_next(std::byte* out) {
    if (!array_) {
      const std::filesystem::path& path = files_[next_++].path;
      if (!try_reading(report_, [&] { open(path); })) array_.reset();
      return {};
    }
    if (row_ == array_->rows()) {
      array_.reset();
      return {};
    }
    int64_t row = row_++;
    bool good = try_reading(report_, [&] {
      array_->read(row, 1, stored_, memory_, input_.data());
      decoder_->write_input(input_.data(), row, 0, out);
    });
    if (!good) return {};
    return RowOrigin{.file = files_[next_ - 1], .row = row, .only = false};
  }

  void open(const std::filesystem::path& path) {
    array_.emplace(path);
    row_ = 0;
    const Column& column = spec_.columns[0];
    check_rows(*array_, column);
    StoredRow row = stored_row(*array_, column);
    stored_ = row.input;
    input_.resize(static_cast<size_t>(column.shape.elements()) * size_of(stored_));
    decoder_.emplace(spec_, std::move(row), DataConfig{}, AugmentConfig{}, StoredSizing{},
                     ReadOptions{.dtype = column.dtype});
  }

  std::vector<ListedInput> files_;
  SampleSpec spec_;
  InputReport report_;

  size_t next_ = 0;                // index in files_ of the next file
  std::optional<NpyArray> array_;  // of files_[next_ - 1], while it has rows
  std::optional<RowDecoder> decoder_;
  DType stored_ = DType::f32;              // of the array's rows as they are read
  int64_t row_ = 0;                        // the next one
  std::vector<std::byte> memory_, input_;  // of a row: its stored bytes, and its numbers
};

}  // namespace

// What cannot be read is none: whoever reads it then reports it.
bool is_npy(const std::filesystem::path& path) {
  try {
    auto file = RegularFile::if_there(path, Category::data);
    std::string begin(npy_magic.size(), '\0');
    return file && file->read(std::as_writable_bytes(std::span(begin))) == begin.size() &&
           begin == npy_magic;
  } catch (const Error&) {
    return false;
  }
}

std::unique_ptr<InputRows> open_array_rows(std::vector<ListedInput> files, const SampleSpec& spec,
                                           const InputReport& report) {
  return std::make_unique<ArrayRows>(std::move(files), spec, report);
}

}  // namespace spire::inline inference

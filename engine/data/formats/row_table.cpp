#include "engine/data/formats/row_table.h"

#include <utility>

#include "engine/base/fail.h"

namespace spire {
namespace {

bool is_whole(const StoredArray& array) {
  return array.numbers != Numbers::floats;
}

Column images_of(const StoredArray& array, std::vector<int64_t> row) {
  if (row.size() == 2) row.push_back(1);
  if (row[2] > 4 && row[0] <= 4)
    fail(Category::data, "{}: images of {}; channels are the last dimension: (N, H, W, C)",
         array.location, to_string(Shape(row)));
  if (array.numbers == Numbers::integers)
    fail(Category::data,
         "{}: images of integers that have neither 8 nor 16 bits without a sign; store pixels from "
         "0 to 255 by astype('uint8'), or numbers from 0 to 1 by astype('float32')",
         array.location);
  return {"images", Shape(row), array.numbers == Numbers::bytes ? DType::u8 : DType::f32};
}

// Rows of two numbers an element are images where their numbers or their name say so.
bool are_images(const StoredArray& array) {
  if (array.row.size() != 2) return array.row.size() == 3;
  return array_name(array.location) == "images" ||
         (array.numbers == Numbers::bytes && array_name(array.location) != "features");
}

Column input_of(const StoredArray& array, const Column& target) {
  size_t rank = array.row.size();
  if (rank == 0 || rank > 3)
    fail(Category::data,
         "{}: is neither images (N, H, W, C), nor sequences (N, T, F), nor features (N, F), nor "
         "tokens (N, T)",
         array.location);
  if (are_images(array)) return images_of(array, array.row);
  bool tokens = target.name == "targets" || array_name(array.location) == "tokens";
  if (rank == 1 && tokens && is_whole(array)) return {"tokens", Shape(array.row), DType::i32};
  return {"features", Shape(array.row), array.exact ? DType::f32 : DType::f64};
}

// Images or masks of the input's height and width.
Column target_image_of(const StoredArray& array, const StoredArray& input, const Column& images) {
  std::vector<int64_t> row = array.row;
  if (images.name != "images" || row.size() > 3)
    fail(Category::data, "{}: {} dimensions, expected 1 or 2{}", array.location, row.size() + 1,
         images.name == "images" ? ", or as many as the images have" : "");
  if (array.numbers != Numbers::bytes)
    fail(Category::data, "{}: target images and masks are unsigned 8-bit integers; store them so",
         array.location);
  if (row[0] != images.shape[0] || row[1] != images.shape[1])
    fail(Category::data,
         "{}: has {} x {} pixels, but {} has {} x {}; each image needs a target of its size",
         array.location, row[0], row[1], array_name(input.location), images.shape[0],
         images.shape[1]);
  bool image = row.size() == 3 || array_name(array.location) == "target_images";
  if (image && row.size() == 2) row.push_back(1);
  return {image ? "target_images" : "masks", Shape(row), DType::u8};
}

// Of at most one number beside the rows'.
Column target_of(const StoredArray& array) {
  std::vector<int64_t> row = array.row;
  if (!is_whole(array)) {
    if (row.empty()) row.push_back(1);
    return {"values", Shape(row), DType::f32};
  }
  if (row.empty() || row[0] == 1) return {"labels", {}, DType::i32};
  return {"targets", Shape(row), DType::i32};
}

}  // namespace

std::string array_name(const std::string& location) {
  std::string name = location.substr(location.find_last_of("/ ") + 1);
  if (!name.ends_with(".npy")) return name;
  name.resize(name.size() - std::string_view(".npy").size());
  for (std::string_view end : {"_train", "_test"})
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  for (std::string_view begin : {"train_", "test_"})
    if (name.starts_with(begin)) return name.substr(begin.size());
  return name;
}

RowColumns row_columns(const StoredArray& input, const StoredArray& target) {
  RowColumns columns;
  bool has_pixels = target.row.size() > 1;
  if (!has_pixels) columns.target = target_of(target);
  columns.input = input_of(input, columns.target);
  if (has_pixels) columns.target = target_image_of(target, input, columns.input);
  bool images = columns.input.name == "images";
  if (images && input.numbers == Numbers::words16) columns.unit = 1.0 / 65535;
  if (columns.target.name == "targets" && columns.input.shape != columns.target.shape)
    fail(Category::data,
         "{}: has rows of {}, but {} has rows of {}; each token needs one target, and a label is "
         "one number a row (N): of one-hot rows store argmax(axis=1)",
         input.location, to_string(columns.input.shape), array_name(target.location),
         to_string(columns.target.shape));
  return columns;
}

void RowTable::infer_columns() {
  if (!has_target()) fail(Category::data, "{}: has no target; name one", location(0));
  RowColumns found = row_columns(stored(0), stored(1));
  set_columns({found.input, found.target}, found.unit);
}

std::optional<int64_t> RowTable::number(size_t column, const char* attribute) const {
  std::vector<double> values = numbers(column, attribute);
  if (values.empty()) return {};
  if (values.size() != 1 || !(values[0] >= 0 && values[0] <= 0x1p31))
    fail(Category::data, "{}, attribute {}: expected one number from 0 to 2^31", location(column),
         attribute);
  return static_cast<int64_t>(values[0]);
}

void RowTable::set_columns(std::vector<Column> columns, double unit) {
  columns_ = std::move(columns);
  unit_ = unit;
}

}  // namespace spire

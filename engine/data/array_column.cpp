#include "engine/data/array_column.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/device/stream.h"

namespace spire {
namespace {

bool is_whole(DType dtype) {
  return dtype == DType::i32 || dtype == DType::u8;
}

std::vector<int64_t> dense_strides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int axis = shape.rank() - 2; axis >= 0; --axis)
    strides[static_cast<size_t>(axis)] = strides[static_cast<size_t>(axis) + 1] * shape[axis + 1];
  return strides;
}

// Bytes of the memory from the first element on that the array's elements span.
size_t extent_bytes(const Array& array, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (int axis = 0; axis < array.shape.rank(); ++axis) {
    int64_t stride = strides[static_cast<size_t>(axis)];
    if (stride < 0)
      fail(Category::data, "array '{}': a negative stride of an array that is copied",
           array.column);
    last += (array.shape[axis] - 1) * stride;
  }
  return (static_cast<size_t>(last) + 1) * size_of(array.dtype);
}

template <typename From>
float as_float(From value, float scale) {
  return static_cast<float>(value) * scale;
}

}  // namespace

bool is_image(std::string_view column) {
  return column == "images" || column == "target_images";
}

bool holds_indices(std::string_view column) {
  return column == "tokens" || column == "labels" || column == "targets" || column == "masks";
}

bool holds_whole_numbers(std::string_view column) {
  return holds_indices(column) || column == "positions";
}

void check_array(const Array& array) {
  auto expect = [&](bool holds, const std::string& problem) {
    if (!holds) fail(Category::data, "array '{}': {}", array.column, problem);
  };
  expect(!array.column.empty(), "an array needs the name of its column");
  expect(array.data != nullptr, "its data is null");
  expect(array.shape.rank() >= 1, "its shape is (); the first axis counts samples");
  expect(
      array.strides.empty() || static_cast<int>(array.strides.size()) == array.shape.rank(),
      fmt::format("it has {} strides for shape {}", array.strides.size(), to_string(array.shape)));
  expect(!holds_whole_numbers(array.column) || is_whole(array.dtype),
         fmt::format("its dtype is {}; {} are i32 or u8", to_string(array.dtype),
                     array.column == "positions" ? "positions" : "class and token numbers"));
  expect(array.dtype != DType::bf16 && array.dtype != DType::f16,
         fmt::format("its dtype is {}; give f32, f64, i32 or u8", to_string(array.dtype)));
}

ArrayColumn::ArrayColumn(const Array& array, DType dtype, bool copy)
    : array_(array), dtype_(dtype) {
  strides_ = array.strides.empty() ? dense_strides(array.shape) : array.strides;
  if (is_image(array.column) && array.dtype == DType::u8) scale_ = 1.0f / 255;
  column_ = {array.column, Shape(array.shape.dims().subspan(1)), dtype};
  copies_rows_ = array.dtype == dtype && scale_ == 1.0f && is_dense();
  if (copy || array.device.kind == DeviceKind::cuda) take_copy();
}

void ArrayColumn::read(int64_t sample, std::byte* row) const {
  const auto* first = static_cast<const std::byte*>(array_.data) +
                      sample * strides_[0] * static_cast<int64_t>(size_of(array_.dtype));
  if (copies_rows_) {
    std::memcpy(row, first, column_.row_bytes());
    return;
  }
  switch (array_.dtype) {
    case DType::f32:
      return convert<float>(first, row);
    case DType::f64:
      return convert<double>(first, row);
    case DType::i32:
      return convert<int32_t>(first, row);
    case DType::u8:
      return convert<uint8_t>(first, row);
    case DType::bf16:
    case DType::f16:
      break;
  }
  fail(Category::unexpected, "an array of {}", spire::to_string(array_.dtype));
}

bool ArrayColumn::is_dense() const {
  std::vector<int64_t> dense = dense_strides(array_.shape);
  return std::equal(dense.begin() + 1, dense.end(), strides_.begin() + 1);
}

void ArrayColumn::take_copy() {
  size_t bytes = extent_bytes(array_, strides_);
  copy_ = allocate_staging(DeviceId{}, bytes);
  if (array_.device.kind == DeviceKind::cuda) {
    std::unique_ptr<Stream> stream = make_stream(array_.device);
    stream->copy(copy_->data(), array_.data, bytes);
    stream->synchronize();
  } else {
    std::memcpy(copy_->data(), array_.data, bytes);
  }
  array_.data = copy_->data();
}

template <typename From>
void ArrayColumn::convert(const std::byte* from, std::byte* row) const {
  const auto* first = reinterpret_cast<const From*>(from);
  int64_t i = 0;
  if (dtype_ == array_.dtype && scale_ == 1) {
    auto* to = reinterpret_cast<From*>(row);
    return each_element(1, first, [&](From value) { to[i++] = value; });
  }
  if (dtype_ == DType::i32) {
    auto* to = reinterpret_cast<int32_t*>(row);
    return each_element(1, first, [&](From value) { to[i++] = static_cast<int32_t>(value); });
  }
  with_any_float_type(dtype_, [&](auto type) {
    auto* to = reinterpret_cast<decltype(type)*>(row);
    each_element(1, first, [&](From value) { to[i++] = as_float(value, scale_); });
  });
}

// Calls visit(element) for the elements of the axes from `axis` on, the last axis first.
template <typename From, typename Visit>
void ArrayColumn::each_element(int axis, const From* first, const Visit& visit) const {
  if (axis == array_.shape.rank()) return visit(*first);
  int64_t stride = strides_[static_cast<size_t>(axis)];
  for (int64_t i = 0; i < array_.shape[axis]; ++i)
    each_element(axis + 1, first + i * stride, visit);
}

}  // namespace spire

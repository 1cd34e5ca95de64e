#include <algorithm>
#include <array>

#include <fmt/ranges.h>

#include <spire/tensor.h>

#include "engine/base/fail.h"

namespace spire {
namespace {

struct NumberType {
  DType dtype;
  std::string_view name;
  size_t size;
};
// In the order of the enum, which indexes it in size_of() and to_string().
constexpr std::array<NumberType, 6> table = {{{DType::f32, "fp32", 4},
                                              {DType::bf16, "bf16", 2},
                                              {DType::f16, "fp16", 2},
                                              {DType::f64, "fp64", 8},
                                              {DType::i32, "int32", 4},
                                              {DType::u8, "uint8", 1}}};

}  // namespace

size_t size_of(DType dtype) {
  return table[static_cast<size_t>(dtype)].size;
}

std::string_view to_string(DType dtype) {
  return table[static_cast<size_t>(dtype)].name;
}

void copy_floats(const void* from, DType dtype, std::span<float> to) {
  with_any_float_type(dtype, [&](auto type) {
    std::copy_n(static_cast<const decltype(type)*>(from), to.size(), to.begin());
  });
}

void refuse_float_type(DType dtype) {
  fail(Category::unexpected, "{} is not a floating-point type", to_string(dtype));
}

DType dtype_from_name(std::string_view name) {
  for (const auto& row : table) {
    if (row.name == name) return row.dtype;
  }
  fail(Category::config, "unknown dtype '{}'; must be one of: fp32, bf16, fp16, fp64, int32, uint8",
       name);
}

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) : rank_(static_cast<int>(dims.size())) {
  require(rank_ <= max_rank, "a shape has at most {} dimensions, got {}", max_rank, rank_);
  std::copy(dims.begin(), dims.end(), dims_.begin());
}

// The product over no dimensions is 1: a scalar has one element.
int64_t Shape::elements() const {
  int64_t product = 1;
  for (int64_t dim : dims()) product *= dim;
  return product;
}

std::string to_string(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape.dims(), ", "));
}

}  // namespace spire

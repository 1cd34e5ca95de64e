#include <algorithm>
#include <array>

#include <spire/error.h>
#include <spire/tensor.h>

namespace spire {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  size_t size;
};
// In the order of the enum, which indexes it in size_of() and name().
constexpr std::array<Row, 6> table = {{{DType::f32, "fp32", 4},
                                       {DType::bf16, "bf16", 2},
                                       {DType::f16, "fp16", 2},
                                       {DType::f64, "fp64", 8},
                                       {DType::i32, "int32", 4},
                                       {DType::u8, "uint8", 1}}};

}  // namespace

size_t size_of(DType dtype) {
  return table[static_cast<size_t>(dtype)].size;
}

std::string_view name(DType dtype) {
  return table[static_cast<size_t>(dtype)].name;
}

void copy_floats(const void* from, DType dtype, std::span<float> to) {
  with_any_float_type(dtype, [&](auto type) {
    std::copy_n(static_cast<const decltype(type)*>(from), to.size(), to.begin());
  });
}

void refuse_float_type(DType dtype) {
  fail(Category::unexpected, "{} is not a floating-point type", name(dtype));
}

DType dtype_from_name(std::string_view name) {
  for (const auto& row : table) {
    if (row.name == name) return row.dtype;
  }
  fail(Category::config, "unknown dtype '{}'; must be one of: fp32, bf16, fp16, fp64, int32, uint8",
       name);
}

}  // namespace spire

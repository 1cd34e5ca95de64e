// Element types of tensors, and bfloat16 as a C++ type.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace spire {

enum class DType : uint8_t { f32, bf16, f16, f64, i32, u8 };

size_t size_of(DType dtype);
std::string_view name(DType dtype);
DType dtype_from_name(std::string_view name);  // throws Error(config) for an unknown name

// bfloat16: the upper half of a float; conversion rounds to nearest even, NaN stays NaN.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  bfloat16(float value) : bits(round(value)) {}  // NOLINT: an arithmetic type converts
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

 private:
  static uint16_t round(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet_nan = (u >> 16) | 0x40u;
    return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
};
static_assert(sizeof(bfloat16) == 2);

template <typename T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct dtype_of<bfloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct dtype_of<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct dtype_of<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct dtype_of<uint8_t> {
  static constexpr DType value = DType::u8;
};

}  // namespace spire

// What describes a tensor: element type and shape; and the name of a device.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <spire/export.h>

// Marks functions that also run on a GPU.
#ifdef __CUDACC__
#define SPIRE_HOST_DEVICE __host__ __device__
#else
#define SPIRE_HOST_DEVICE
#endif

namespace spire {

// Element types of tensors, and C++ types for the 16-bit ones, on host and device.

enum class DType : uint8_t { f32, bf16, f16, f64, i32, u8 };

SPIRE_API size_t size_of(DType dtype);
SPIRE_API std::string_view to_string(
    DType dtype);  // "fp32", "bf16", "fp16", "fp64", "int32", "uint8"
SPIRE_API DType dtype_from_name(std::string_view name);  // throws Error(config) for an unknown name

// bfloat16: the upper half of a float; conversion rounds to nearest even, NaN stays NaN.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  SPIRE_HOST_DEVICE bfloat16(float value) : bits(round(value)) {}  // NOLINT: arithmetic converts
  SPIRE_HOST_DEVICE operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }

 private:
  SPIRE_HOST_DEVICE static uint16_t round(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    uint32_t quiet_nan = (u >> 16) | 0x40u;
    return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
};
static_assert(sizeof(bfloat16) == 2);

// IEEE 754 binary16: 10 bits of fraction, up to 65504, subnormal below 2^-14. Conversion rounds to
// nearest even; too large values become infinite, NaN stays NaN.
struct float16 {
  uint16_t bits = 0;
  float16() = default;
  SPIRE_HOST_DEVICE float16(float value) : bits(round(value)) {}  // NOLINT: arithmetic converts
  SPIRE_HOST_DEVICE operator float() const {
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
    uint32_t magnitude = static_cast<uint32_t>(bits & 0x7fffu) << 13;
    // Multiplying by 2^112 moves the exponent's bias from 15 to 127, also of subnormal numbers.
    float value = std::bit_cast<float>(magnitude) * 0x1p112f;
    bool finite = magnitude < 0x0f800000u;
    uint32_t rest = finite ? std::bit_cast<uint32_t>(value) : magnitude | 0x7f800000u;
    return std::bit_cast<float>(sign | rest);
  }

 private:
  SPIRE_HOST_DEVICE static uint16_t round(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude >= 0x7f800000u)  // infinite, or NaN
      return static_cast<uint16_t>(sign | 0x7c00u | (magnitude > 0x7f800000u ? 0x200u : 0u));
    if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // below 2^-14: adding 0.5 rounds to multiples of 2^-24
      float rounded = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
    }
    uint32_t rebiased = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | (rebiased >> 13));
  }
};
static_assert(sizeof(float16) == 2);

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
struct dtype_of<float16> {
  static constexpr DType value = DType::f16;
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

[[noreturn]] SPIRE_API void refuse_float_type(DType dtype);  // throws Error(unexpected)

// Returns visit(float{}), visit(bfloat16{}) or visit(float16{}) for f32, bf16 or f16. Throws
// Error(unexpected) for other types.
template <typename Visit>
decltype(auto) with_any_float_type(DType dtype, const Visit& visit) {
  if (dtype == DType::f32) return visit(float{});
  if (dtype == DType::bf16) return visit(bfloat16{});
  if (dtype != DType::f16) refuse_float_type(dtype);
  return visit(float16{});
}

// Widens elements of type `dtype` (f32, bf16 or f16) to float, as many as `to` has.
SPIRE_API void copy_floats(const void* from, DType dtype, std::span<float> to);

// Shape of a tensor: up to six dimensions, stored inline. More throw Error(unexpected).

class SPIRE_API Shape {
 public:
  static constexpr int max_rank = 6;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(axis)]; }
  int64_t back() const { return dims_[static_cast<size_t>(rank_ - 1)]; }
  int64_t elements() const;  // 1 for a scalar
  std::span<const int64_t> dims() const { return {dims_.data(), static_cast<size_t>(rank_)}; }

  bool operator==(const Shape& other) const = default;

 private:
  std::array<int64_t, max_rank> dims_{};
  int rank_ = 0;
};

SPIRE_API std::string to_string(const Shape& shape);  // "(128, 28, 28, 1)"

// A device, on which towers run. "cpu:0", "cpu:1", ... are equal shares of the process's cores;
// "cuda:0" is a GPU.

enum class DeviceKind : uint8_t { cpu, cuda };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
};

SPIRE_API std::string to_string(DeviceId device);        // returns "cpu:1" or "cuda:0"
SPIRE_API DeviceId parse_device(std::string_view text);  // "cuda:0"; throws Error(config)

}  // namespace spire

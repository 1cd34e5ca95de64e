// Tests of the packing of filters: plain to krsc and back, exactly.
#include <gtest/gtest.h>

#include "cuda_runtime.h"
#include "engine/device/device_memory.h"
#include "kernels/cuda/packing.h"
#include "kernels/kernel.h"

namespace spire {
namespace {

// Small integers, exact in every dtype.
std::vector<float> numbered(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 127);
  return values;
}

Packing packing_of(const Shape& shape, DType dtype) {
  TensorSpec inputs[] = {{shape, DType::f32}};
  return krsc_packings(0, dtype, {.inputs = inputs, .outputs = {}, .device = {}}).at(0);
}

template <typename T>
std::vector<float> as_floats(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// By the definition.
std::vector<float> krsc_of(const Shape& s, const std::vector<float>& plain) {
  std::vector<float> krsc;
  for (int64_t o = 0; o < s[0]; ++o)
    for (int64_t k = 0; k < s[2] * s[3]; ++k)
      for (int64_t c = 0; c < s[1]; ++c)
        krsc.push_back(plain[static_cast<size_t>((o * s[1] + c) * s[2] * s[3] + k)]);
  return krsc;
}

// One pixel, one channel; tiles of all pixels and several of channels; of several of pixels.
const Shape shapes[] = {{5, 7, 1, 1},  {6, 1, 3, 3},    {4, 3, 3, 3},  {2, 500, 3, 3},
                        {3, 16, 4, 4}, {2, 2100, 1, 2}, {2, 3, 11, 7}, {1, 70, 9, 17}};
const DType dtypes[] = {DType::f32, DType::bf16, DType::f16};

}  // namespace

TEST(CudaFilter, PackingIsTheDefinition) {
  for (const Shape& shape : shapes) {
    for (DType dtype : dtypes) {
      SCOPED_TRACE(to_string(shape) + " " + std::string(to_string(dtype)));
      if (dtype == DType::f32 && same_order(shape)) continue;
      Packing packing = packing_of(shape, dtype);
      auto plain = numbered(shape);
      with_any_float_type(dtype, [&](auto type) {
        std::vector<decltype(type)> packed(plain.size());
        EXPECT_EQ(packing.bytes, packed.size() * sizeof type);
        packing.pack(plain.data(), packed.data());
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
        EXPECT_EQ(as_floats(packed), krsc_of(shape, plain));
      });
    }
  }
}

// Channels behind a filter's are zeros, and are left out when its gradient comes back.
TEST(CudaFilter, ChannelsMayBePadded) {
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(to_string(shape));
    TensorSpec inputs[] = {{shape, DType::f32}};
    Shape wide = shape;
    wide[1] += 5;
    Packing packing =
        krsc_packings(0, DType::bf16, {.inputs = inputs, .outputs = {}, .device = {}}, wide[1])
            .at(0);
    auto plain = numbered(shape);
    std::vector<float> padded, back(plain.size());
    int64_t pixels = shape[2] * shape[3];
    for (int64_t o = 0; o < shape[0]; ++o)
      for (int64_t i = 0; i < wide[1] * pixels; ++i)
        padded.push_back(
            i < shape[1] * pixels ? plain[static_cast<size_t>(o * shape[1] * pixels + i)] : 0);
    std::vector<bfloat16> packed(padded.size(), bfloat16(-1.0f));
    ASSERT_EQ(packing.bytes, packed.size() * sizeof(bfloat16));
    auto there = allocate_cuda_memory(0, packing.bytes);
    there->write(packed.data(), packing.bytes);
    packing.pack(plain.data(), there->data());
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    there->read(packed.data(), packing.bytes);
    EXPECT_EQ(as_floats(packed), krsc_of(wide, padded));
    krsc_to_plain(shape, wide[1], DType::bf16, there->data(), back.data(), nullptr);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(back, plain);
  }
}

TEST(CudaFilter, UnitsMayBePackedSeparately) {
  Shape shape{7, 5, 3, 3};
  Packing packing = packing_of(shape, DType::f32);
  ASSERT_EQ(packing.units, 7);
  auto plain = numbered(shape);
  std::vector<float> packed(plain.size());
  for (int64_t first : {4, 0}) {
    packing.pack_units(plain.data(), packed.data(), first, first == 4 ? 7 : 4, nullptr);
    packing.pack_units(plain.data(), packed.data(), first, first, nullptr);
  }
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(packed, krsc_of(shape, plain));
}

TEST(CudaFilter, Fp32FiltersOfTheSameOrderAreNotPacked) {
  TensorSpec inputs[] = {{{5, 7, 1, 1}, DType::f32}};
  EXPECT_TRUE(
      krsc_packings(0, DType::f32, {.inputs = inputs, .outputs = {}, .device = {}}).empty());
}

TEST(CudaFilter, GradientsComeBackPlain) {
  for (const Shape& shape : shapes) {
    for (DType dtype : dtypes) {
      SCOPED_TRACE(to_string(shape) + " " + std::string(to_string(dtype)));
      auto plain = numbered(shape);
      auto floats = krsc_of(shape, plain);
      std::vector<float> back(plain.size());
      with_any_float_type(dtype, [&](auto type) {
        std::vector<decltype(type)> krsc(floats.begin(), floats.end());
        krsc_to_plain(shape, shape[1], dtype, krsc.data(), back.data(), nullptr);
        ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      });
      EXPECT_EQ(back, plain);
    }
  }
}

}  // namespace spire

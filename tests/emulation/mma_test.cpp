// Tests of the emulated tensor cores: fragments lie as PTX defines them, sums are truncated.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/device/cuda_kernel.h"
#include "engine/device/cuda_mma.h"

namespace spire {
namespace {

// y (16, 8) = a (16, 16) times b, each element where the fragments have it.
template <typename T>
__global__ void multiply(const float* a, const float* b, float* y) {
  int lane = static_cast<int>(threadIdx.x), group = lane / 4, pair = 2 * (lane % 4);
  auto left = [&](int row, int column) {
    return halves_of<T>(a[row * 16 + column], a[row * 16 + column + 1]);
  };
  auto right = [&](int row) { return halves_of<T>(b[row * 8 + group], b[(row + 1) * 8 + group]); };
  const uint32_t words[4] = {left(group, pair), left(group + 8, pair), left(group, pair + 8),
                             left(group + 8, pair + 8)};
  float sums[4] = {y[group * 8 + pair], y[group * 8 + pair + 1], y[(group + 8) * 8 + pair],
                   y[(group + 8) * 8 + pair + 1]};
  mma_16x8x16<T>(sums, words, right(pair), right(pair + 8));
  for (int i = 0; i < 4; ++i) y[(group + 8 * (i / 2)) * 8 + pair + i % 2] = sums[i];
}

// The words of four matrices (8, 8), which lie one below the other.
template <bool transposed>
__global__ void load(uint32_t* words) {
  __shared__ Pack<uint16_t, 8> rows[32];
  for (uint16_t i = 0; i < 8; ++i)
    rows[threadIdx.x].at[i] = static_cast<uint16_t>(100 * threadIdx.x + i);
  __syncthreads();
  uint32_t own[4];
  if (transposed) {
    load_matrices_transposed(own, &rows[threadIdx.x]);
  } else {
    load_matrices(own, &rows[threadIdx.x]);
  }
  for (uint32_t i = 0; i < 4; ++i) words[threadIdx.x * 4 + i] = own[i];
}

template <typename... Parameters, typename... Arguments>
void run_warp(void (*kernel)(Parameters...), Arguments... arguments) {
  launch(kernel, 1, 32, nullptr, arguments...);
  check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

template <typename T>
void expect_products() {
  RandomStream random(5, Purpose::initialize);
  auto draw = [&](size_t count, uint64_t from) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i)
      values[i] = static_cast<float>(random.below(from + i, 17)) - 8;
    return values;
  };
  auto a = draw(256, 0), b = draw(128, 256), y = draw(128, 384), want = y;
  for (size_t i = 0; i < 16; ++i)
    for (size_t j = 0; j < 8; ++j)
      for (size_t k = 0; k < 16; ++k) want[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
  run_warp(multiply<T>, a.data(), b.data(), y.data());
  EXPECT_EQ(y, want);  // whole numbers: exact
}

TEST(EmulationMma, MultipliesFragments) {
  expect_products<bfloat16>();
  expect_products<float16>();
}

TEST(EmulationMma, CutsSums) {
  std::vector<float> a(256, 1.0f), b(128, -0x1p-9f), y(128, 0x1p15f);
  y[1] = -0x1p15f;
  run_warp(multiply<bfloat16>, a.data(), b.data(), y.data());
  EXPECT_EQ(y[0], 0x1p15f - 0x1p-5f);
  EXPECT_EQ(y[1], -0x1p15f - 0x1p-5f);
  a.assign(256, 0x1p-9f);
  y.assign(128, 0x1p15f);
  run_warp(multiply<bfloat16>, a.data(), b.data(), y.data());
  EXPECT_EQ(y[0], std::nextafter(0x1p15f, 0.0f));  // 2^15 - 2^-14, which lies nearer to 2^15
}

TEST(EmulationMma, LoadsMatrices) {
  std::vector<uint32_t> plain(128), transposed(128);
  run_warp(load<false>, plain.data());
  run_warp(load<true>, transposed.data());
  auto element = [](uint32_t matrix, uint32_t row, uint32_t column) {
    return 100 * (8 * matrix + row) + column;
  };
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 4; ++i) {
      uint32_t group = lane / 4, pair = 2 * (lane % 4);
      EXPECT_EQ(plain[lane * 4 + i], element(i, group, pair) | element(i, group, pair + 1) << 16);
      EXPECT_EQ(transposed[lane * 4 + i], element(i, pair, group) | element(i, pair + 1, group)
                                                                        << 16);
    }
}

TEST(EmulationMma, WordsHaveTheFirstElementInTheLowHalf) {
  EXPECT_EQ(halves_of<bfloat16>(1.0f, -2.0f), 0xc0003f80u);
  EXPECT_EQ(halves_of<float16>(1.0f, -2.0f), 0xc0003c00u);
  EXPECT_EQ(halves_of<float16>(1.0f + 0x1p-11f, 1e6f), 0x7c003c00u);  // to even; infinite
}

}  // namespace
}  // namespace spire

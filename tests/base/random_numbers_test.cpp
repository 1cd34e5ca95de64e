#include "engine/base/random_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "engine/base/hash.h"

namespace spire {
namespace {

const RandomStream stream(7, Purpose::initialize, 3);

std::vector<float> normals(size_t count, int64_t first = 0) {
  std::vector<float> values(count);
  normal_numbers(stream, first, values);
  return values;
}

double mean_power(const std::vector<float>& values, int power) {
  auto add = [&](double sum, float value) { return sum + std::pow(double{value}, power); };
  return std::accumulate(values.begin(), values.end(), 0.0, add) /
         static_cast<double>(values.size());
}

// Distribution function of the standard normal.
double below(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

// The numbers of two words, in fp64 but for u.
std::array<double, 2> box_muller(uint32_t first, uint32_t second) {
  float u = (static_cast<float>(first >> 1) + 1.0f) * 0x1p-31f;
  double radius = std::sqrt(-2 * std::log(double{u}));
  double angle = 2 * std::numbers::pi * second / 0x1p32;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

TEST(RandomNumbers, UniformIsTheStreams) {
  std::vector<float> values(1000);
  uniform_numbers(stream, 0, values);
  for (size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], stream.uniform(i)) << i;
}

TEST(RandomNumbers, NormalIsTheFormula) {
  auto values = normals(200000);
  for (size_t i = 0; i < values.size(); i += 2) {
    auto expected = box_muller(stream.bits(i), stream.bits(i + 1));
    ASSERT_NEAR(values[i], expected[0], 1e-6) << i;
    ASSERT_NEAR(values[i + 1], expected[1], 1e-6) << i + 1;
  }
}

TEST(RandomNumbers, AnyCutOfARangeHasTheSameBits) {
  auto whole = normals(5000);
  for (size_t piece : {1, 3, 4, 63, 64, 65, 1000}) {
    for (size_t at = 0; at < whole.size(); at += piece) {
      auto part = normals(std::min(piece, whole.size() - at), static_cast<int64_t>(at));
      ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<int64_t>(at)))
          << piece << " from " << at;
    }
  }
  // Beyond 2^32 blocks, too.
  int64_t far = (int64_t{1} << 36) + 2;
  EXPECT_EQ(normals(1, far + 5)[0], normals(6, far)[5]);
}

// As compiled for x86-64, x86-64-v3 and AVX-512, with and without optimization.
TEST(RandomNumbers, NormalHasTheSameBitsOnEveryProcessor) {
  auto values = normals(1 << 20);
  EXPECT_EQ(hex(hash64(values.data(), values.size() * sizeof(float))), "4350702825b29b99");
}

TEST(RandomNumbers, NormalHasTheMomentsOfANormal) {
  auto values = normals(1 << 20);
  // Five standard errors: the variance of x^p is E x^2p - (E x^p)^2.
  double root = 1024;
  EXPECT_NEAR(mean_power(values, 1), 0, 5 / root);
  EXPECT_NEAR(mean_power(values, 2), 1, 5 * std::sqrt(2.0) / root);
  EXPECT_NEAR(mean_power(values, 3), 0, 5 * std::sqrt(15.0) / root);
  EXPECT_NEAR(mean_power(values, 4), 3, 5 * std::sqrt(96.0) / root);
}

// Kolmogorov and Smirnov: sqrt(n) times the largest distance exceeds 2.2 with probability 1.3e-4.
TEST(RandomNumbers, NormalHasTheDistributionOfANormal) {
  auto values = normals(1 << 20);
  std::sort(values.begin(), values.end());
  auto n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double expected = below(values[i]), at = static_cast<double>(i);
    distance = std::max({distance, expected - at / n, (at + 1) / n - expected});
  }
  EXPECT_LT(std::sqrt(n) * distance, 2.2);
}

// Counts beyond 3, 4 and 4.5 deviations are within five of their own.
TEST(RandomNumbers, NormalHasTheTailsOfANormal) {
  auto values = normals(1 << 22);
  for (double bound : {3.0, 4.0, 4.5}) {
    for (int sign : {-1, 1}) {
      auto count = std::count_if(values.begin(), values.end(),
                                 [&](float value) { return sign * double{value} > bound; });
      double expected = static_cast<double>(values.size()) * below(-bound);
      EXPECT_NEAR(static_cast<double>(count), expected, 5 * std::sqrt(expected)) << sign * bound;
    }
  }
}

// Numbers of one radius and of neighbouring blocks are uncorrelated, their squares too.
TEST(RandomNumbers, NeighboursAreUncorrelated) {
  auto values = normals(1 << 20);
  for (size_t lag : {1, 2, 4}) {
    double products = 0, squares = 0;
    for (size_t i = 0; i + lag < values.size(); ++i) {
      double a = values[i], b = values[i + lag];
      products += a * b;
      squares += (a * a - 1) * (b * b - 1);
    }
    EXPECT_NEAR(products / 0x1p20, 0, 5 / 1024.0) << lag;
    EXPECT_NEAR(squares / 0x1p20, 0, 5 * 2 / 1024.0) << lag;
  }
}

}  // namespace
}  // namespace spire

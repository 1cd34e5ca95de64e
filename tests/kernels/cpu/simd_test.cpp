#include "kernels/cpu/simd.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace spire::testing {

// All 65536 values of bf16, through the lanes and back.
TEST(Lanes, EveryBfloat16SurvivesALoadAndAStore) {
  std::vector<bfloat16> from(65536), to(65536);
  for (size_t i = 0; i < from.size(); ++i) from[i].bits = static_cast<uint16_t>(i);
  over_lanes(65536, [&](int64_t i, auto count) {
    store_floats(load_floats(from.data() + i, count), to.data() + i, count);
  });
  for (size_t i = 0; i < from.size(); ++i) {
    float want = from[i], got = to[i];
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(got)) << i;
    } else {
      EXPECT_EQ(to[i].bits, from[i].bits);
    }
  }
}

// Rounding is that of bfloat16 itself, halfway cases and overflow to infinity included.
TEST(Lanes, StoresRoundAsTheTypeDoes) {
  std::vector<float> from;
  for (uint32_t high = 0; high < 65536; high += 7) {
    for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      from.push_back(std::bit_cast<float>(high << 16 | low));
    }
  }
  std::vector<bfloat16> to(from.size());
  over_lanes(static_cast<int64_t>(from.size()), [&](int64_t i, auto count) {
    store_floats(load_floats(from.data() + i, count), to.data() + i, count);
  });
  for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i].bits, bfloat16(from[i]).bits) << from[i];
}

// One subnormal or NaN in any lane, among ordinary floats: all sixteen round as the type does.
TEST(Lanes, OneOddLaneDoesNotDisturbTheOthers) {
  for (uint32_t odd : {0x00000001u, 0x007fffffu, 0x80018000u, 0x7f800001u, 0xffc12345u}) {
    for (size_t lane = 0; lane < lane_count; ++lane) {
      std::vector<float> from(lane_count);
      for (size_t i = 0; i < from.size(); ++i) from[i] = 1.0f + 0.001f * static_cast<float>(i);
      from[lane] = std::bit_cast<float>(odd);
      std::vector<bfloat16> to(lane_count);
      store_floats(load_floats(from.data(), lane_count), to.data(), lane_count);
      for (size_t i = 0; i < from.size(); ++i) EXPECT_EQ(to[i].bits, bfloat16(from[i]).bits);
    }
  }
}

// A byte above 127 must not become negative.
TEST(Lanes, BytesWidenUnsigned) {
  std::vector<uint8_t> from(256), to(256);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i);
  over_lanes(256, [&](int64_t i, auto count) {
    IntLanes wide = load_ints(from.data() + i, count);
    for (int k = 0; k < count; ++k) EXPECT_EQ(wide[k], i + k);
    store_ints(wide, to.data() + i, count);
  });
  EXPECT_EQ(to, from);
}

// A short last turn neither reads nor writes past its count.
TEST(Lanes, TheLastTurnKeepsToItsCount) {
  for (int64_t n = 1; n <= 2 * lane_count + 1; ++n) {
    auto size = static_cast<size_t>(n);
    std::vector<float> from(size, 2.0f), to(size + 1, 7.0f);
    int64_t seen = 0;
    over_lanes(n, [&](int64_t i, auto count) {
      EXPECT_EQ(i, seen);
      seen += count;
      store_floats(load_floats(from.data() + i, count) * 3.0f, to.data() + i, count);
    });
    EXPECT_EQ(seen, n);
    EXPECT_EQ(to[size - 1], 6.0f);
    EXPECT_EQ(to[size], 7.0f);
  }
}

// A 16 x 16 matrix, whose elements name their row and column.
TEST(Lanes, TransposeExchangesRowsAndColumns) {
  FloatLanes rows[lane_count];
  for (int i = 0; i < lane_count; ++i) {
    for (int j = 0; j < lane_count; ++j) rows[i][j] = static_cast<float>(100 * i + j);
  }
  transpose_lanes(rows);
  for (int i = 0; i < lane_count; ++i) {
    for (int j = 0; j < lane_count; ++j) {
      EXPECT_EQ(rows[i][j], static_cast<float>(100 * j + i));
    }
  }
}

TEST(Lanes, FirstLanesKeepTheirsAndFillTheRest) {
  FloatLanes lanes;
  for (int i = 0; i < lane_count; ++i) lanes[i] = static_cast<float>(i);
  for (int count = -1; count <= lane_count; ++count) {
    FloatLanes got = first_lanes(lanes, count, 9.5f);
    for (int i = 0; i < lane_count; ++i)
      EXPECT_EQ(got[i], i < count ? static_cast<float>(i) : 9.5f);
  }
}

// Within 1.5 ulp of e^x over all exponents; clamped beyond; each lane as if it were alone.
TEST(Lanes, ExponentialIsThatOfEachLane) {
  for (float x = -86.9f; x < 87.9f; x += 0.0137f) {
    FloatLanes lanes = FloatLanes{} + x;
    lanes[3] = -1e30f;
    lanes[5] = std::numeric_limits<float>::quiet_NaN();
    lanes[7] = 1e30f;
    FloatLanes got = exponential(lanes);
    double want = std::exp(static_cast<double>(x));
    EXPECT_NEAR(got[0], want, 1.8e-7 * want) << x;
    EXPECT_EQ(got[0], got[15]);
    EXPECT_EQ(got[3], exponential(-87.0f));
    EXPECT_TRUE(std::isnan(got[5]));
    EXPECT_EQ(got[7], exponential(88.0f));
  }
}

// Powers of two, so that a lane left out or counted twice shows.
TEST(Lanes, SumAddsAllLanes) {
  FloatLanes lanes;
  for (int i = 0; i < lane_count; ++i) lanes[i] = static_cast<float>(1 << i);
  EXPECT_EQ(sum_of(lanes), 65535.0f);
  EXPECT_EQ(largest_of(-lanes), -1.0f);
  EXPECT_EQ(largest_of(lanes), 32768.0f);
}

}  // namespace spire::testing

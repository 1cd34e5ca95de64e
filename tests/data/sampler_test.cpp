#include "engine/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/sample_order.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

void expect_permutation(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> samples = order(Sampler(count, seed), epoch);
  std::sort(samples.begin(), samples.end());
  ASSERT_EQ(samples, identity(count)) << "count " << count << " epoch " << epoch;
}

TEST(Sampler, IsAPermutationOfEverySmallCount) {
  for (int64_t count = 1; count <= 300; ++count)
    for (int64_t epoch : {0, 1, 12345}) expect_permutation(count, 7, epoch);
}

TEST(Sampler, IsAPermutationAroundPowersOfTwo) {
  for (int64_t power : {1024, 2048, 16384, 65536})
    for (int64_t count : {power - 1, power, power + 1}) expect_permutation(count, 3, 2);
  expect_permutation(60000, 0, 0);
}

// The inverse exists, so distinct positions have distinct samples: checked on a sample of 2^40.
TEST(Sampler, ReachesAllOfTheLargestCount) {
  Sampler sampler(Sampler::max_count, 5);
  std::set<int64_t> samples;
  for (int64_t i = 0; i < 4096; ++i) samples.insert(sampler.index(3, i * 268435399));
  EXPECT_EQ(samples.size(), 4096u);
  EXPECT_GE(*samples.begin(), 0);
  EXPECT_LT(*samples.rbegin(), Sampler::max_count);
  // Of 4096 uniform draws the least is below 1/100 of the range, but for 1 case in 10^17.
  EXPECT_LT(*samples.begin(), Sampler::max_count / 100);
  EXPECT_GT(*samples.rbegin(), Sampler::max_count / 100 * 99);
}

TEST(Sampler, OneSampleIsItsOnlyOrder) {
  for (int64_t epoch = 0; epoch < 100; ++epoch) EXPECT_EQ(Sampler(1, 9).index(epoch, 0), 0);
}

TEST(Sampler, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(order(Sampler(100, 1), 4), order(Sampler(100, 1), 4));
  EXPECT_NE(order(Sampler(100, 1), 4), order(Sampler(100, 1), 5));
  EXPECT_NE(order(Sampler(100, 1), 4), order(Sampler(100, 2), 4));
  EXPECT_NE(order(Sampler(100, 1), 0), identity(100));
}

// A checkpoint continues the order of the run that wrote it: these numbers, of an
// independent implementation in Python, may never change.
TEST(Sampler, OrderIsPartOfTheCheckpointFormat) {
  EXPECT_THAT(order(Sampler(10, 7), 0), testing::ElementsAre(5, 0, 7, 4, 1, 9, 3, 8, 6, 2));
  EXPECT_THAT(order(Sampler(10, 7), 1), testing::ElementsAre(1, 5, 8, 0, 4, 6, 7, 9, 3, 2));
  Sampler sampler(60000, 7);
  EXPECT_EQ(sampler.index(0, 0), 1223);
  EXPECT_EQ(sampler.index(9, 59999), 10266);
}

double chi_square(const std::vector<int64_t>& counts) {
  double total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  double expected = total / static_cast<double>(counts.size());
  double sum = 0;
  for (int64_t count : counts) sum += std::pow(static_cast<double>(count) - expected, 2) / expected;
  return sum;
}

// Five standard deviations above the mean of the chi-square distribution.
double chi_square_limit(double freedom) {
  return freedom + 5 * std::sqrt(2 * freedom);
}

TEST(Sampler, EachSampleIsAtAnyPositionEquallyOften) {
  for (int64_t count : {2, 3, 5, 7, 16, 33, 100}) {
    Sampler sampler(count, 17);
    for (int64_t position : {int64_t{0}, count / 2, count - 1}) {
      std::vector<int64_t> counts(static_cast<size_t>(count));
      for (int64_t epoch = 0; epoch < 100 * count; ++epoch)
        ++counts[static_cast<size_t>(sampler.index(epoch, position))];
      EXPECT_LT(chi_square(counts), chi_square_limit(static_cast<double>(count - 1)))
          << "position " << position << " of " << count;
    }
  }
}

// Neighbours in the order are as independent as drawn without replacement.
TEST(Sampler, PairsOfPositionsAreIndependent) {
  constexpr int64_t count = 12;
  Sampler sampler(count, 23);
  std::vector<int64_t> counts(count * (count - 1));
  for (int64_t epoch = 0; epoch < 20000; ++epoch) {
    int64_t first = sampler.index(epoch, 4), second = sampler.index(epoch, 5);
    ASSERT_NE(first, second);
    ++counts[static_cast<size_t>(first * (count - 1) + second - (second > first ? 1 : 0))];
  }
  EXPECT_LT(chi_square(counts), chi_square_limit(count * (count - 1) - 1));
}

// All orders of four samples appear equally often.
TEST(Sampler, OrdersOfFourAreUniform) {
  Sampler sampler(4, 29);
  std::vector<int64_t> counts(24);
  for (int64_t epoch = 0; epoch < 24000; ++epoch) {
    std::vector<int64_t> samples = order(sampler, epoch);
    size_t rank = 0;
    for (size_t i = 0; i < 4; ++i) {
      auto smaller = std::count_if(samples.begin() + static_cast<std::ptrdiff_t>(i), samples.end(),
                                   [&](int64_t other) { return other < samples[i]; });
      rank = rank * (4 - i) + static_cast<size_t>(smaller);
    }
    ++counts[rank];
  }
  EXPECT_LT(chi_square(counts), chi_square_limit(23));
}

TEST(Sampler, RefusesWhatIsOutOfRange) {
  EXPECT_THROW(Sampler(0, 1), Error);
  EXPECT_THROW(Sampler(Sampler::max_count + 1, 1), Error);
  EXPECT_THROW(Sampler(5, 1).index(0, 5), Error);
  EXPECT_THROW(Sampler(5, 1).index(0, -1), Error);
  EXPECT_THROW(Sampler(5, 1).index(-1, 0), Error);
}

}  // namespace
}  // namespace spire

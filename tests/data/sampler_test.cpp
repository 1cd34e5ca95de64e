#include "engine/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/test_files.h"

namespace spire {
namespace {

std::vector<int64_t> order(const Sampler& sampler, int64_t epoch) {
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < sampler.count(); ++i) samples.push_back(sampler.index(epoch, i));
  return samples;
}

void expect_permutation(int64_t count, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> samples = order(Sampler(count, seed), epoch);
  std::sort(samples.begin(), samples.end());
  ASSERT_EQ(samples, sequence(0, count)) << "count " << count << " epoch " << epoch;
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
  for (int64_t chunk : {1, 1000}) {
    Sampler sampler(Sampler::max_count, 5, chunk);
    std::set<int64_t> samples;
    for (int64_t i = 0; i < 4096; ++i) samples.insert(sampler.index(3, i * 268435399));
    EXPECT_EQ(samples.size(), 4096u);
    EXPECT_GE(*samples.begin(), 0);
    EXPECT_LT(*samples.rbegin(), Sampler::max_count);
    // Of 4096 uniform draws the least is below 1/100 of the range, but for 1 case in 10^17.
    EXPECT_LT(*samples.begin(), Sampler::max_count / 100);
    EXPECT_GT(*samples.rbegin(), Sampler::max_count / 100 * 99);
  }
}

TEST(Sampler, OneSampleIsItsOnlyOrder) {
  for (int64_t epoch = 0; epoch < 100; ++epoch) EXPECT_EQ(Sampler(1, 9).index(epoch, 0), 0);
}

TEST(Sampler, IsAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(order(Sampler(100, 1), 4), order(Sampler(100, 1), 4));
  EXPECT_NE(order(Sampler(100, 1), 4), order(Sampler(100, 1), 5));
  EXPECT_NE(order(Sampler(100, 1), 4), order(Sampler(100, 2), 4));
  EXPECT_NE(order(Sampler(100, 1), 0), sequence(0, 100));
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

// Tests sampler orders that keep chunks of a file together.

TEST(ChunkedOrder, IsAPermutationOfAnyCountAndChunk) {
  for (int64_t count = 1; count <= 130; ++count)
    for (int64_t chunk : {1, 2, 3, 5, 8, 40, 129, 130, 1000})
      for (int64_t epoch : {0, 1, 77}) {
        std::vector<int64_t> samples = order(Sampler(count, 5, chunk), epoch);
        std::ranges::sort(samples);
        ASSERT_EQ(samples, sequence(0, count)) << count << " samples, chunk " << chunk;
      }
}

TEST(ChunkedOrder, IsAPermutationOfManyWindows) {
  for (int64_t count : {4095, 4096, 4097, 5000}) {
    std::vector<int64_t> samples = order(Sampler(count, 5, 4), 3);
    std::ranges::sort(samples);
    EXPECT_EQ(samples, sequence(0, count));
  }
}

// A cache of one window's chunks reads each chunk once: no chunk is in two windows.
TEST(ChunkedOrder, EachChunkIsInOneWindowOnly) {
  constexpr int64_t chunk = 7;
  for (int64_t count : {7 * 16 * 3, 7 * 16 * 3 + 1, 2000, 1999, 2001}) {
    Sampler sampler(count, 9, chunk);
    for (int64_t epoch = 0; epoch < 8; ++epoch) {
      int64_t chunks = (count + chunk - 1) / chunk;
      std::vector<int64_t> first(static_cast<size_t>(chunks), -1), last = first;
      for (int64_t position = 0; position < count; ++position) {
        auto at = static_cast<size_t>(sampler.index(epoch, position) / chunk);
        if (first[at] < 0) first[at] = position;
        last[at] = position;
      }
      for (size_t at = 0; at < first.size(); ++at)
        EXPECT_LT(last[at] - first[at], Sampler::window * chunk) << "chunk " << at;
    }
  }
}

TEST(ChunkedOrder, SamplesOfAWindowAreShuffled) {
  Sampler sampler(16 * 64 * 10, 9, 64);
  int64_t neighbours = 0, same_chunk = 0;
  for (int64_t i = 0; i + 1 < sampler.count(); ++i) {
    int64_t a = sampler.index(2, i), b = sampler.index(2, i + 1);
    neighbours += b == a + 1 ? 1 : 0;
    same_chunk += a / 64 == b / 64 ? 1 : 0;
  }
  // Of 10240 pairs 1 in 1024 are neighbours and 63 in 1023 of one chunk: 10 and 630 expected, with
  // deviations of 3.2 and 24; five of them are allowed.
  EXPECT_LT(neighbours, 10 + 16);
  EXPECT_NEAR(static_cast<double>(same_chunk), 630, 122);
}

// The position of the last, smaller chunk is as random as that of any other.
TEST(ChunkedOrder, EachChunkIsFirstEquallyOften) {
  constexpr int64_t chunks = 5, chunk = 3, count = 4 * chunk + 1, epochs = 6000;
  Sampler sampler(count, 31, chunk);
  std::vector<int64_t> met(chunks);
  for (int64_t epoch = 0; epoch < epochs; ++epoch)
    ++met[static_cast<size_t>(sampler.index(epoch, 0) / chunk)];
  // All are in one window, so a chunk is met in proportion to its samples.
  for (int64_t at = 0; at < chunks; ++at) {
    double share = (at + 1 < chunks ? 3.0 : 1.0) / 13, expected = share * epochs;
    EXPECT_NEAR(static_cast<double>(met[static_cast<size_t>(at)]), expected,
                5 * std::sqrt(expected * (1 - share)));
  }
}

TEST(ChunkedOrder, ChunksAreInAnotherOrderEachEpoch) {
  Sampler sampler(32 * 100, 3, 2);  // 100 windows
  std::set<std::vector<int64_t>> starts;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<int64_t> chunks;
    for (int64_t position = 0; position < 4; ++position)
      chunks.push_back(sampler.index(epoch, position * 32) / 2);
    starts.insert(chunks);
  }
  EXPECT_EQ(starts.size(), 20u);
  EXPECT_EQ(order(sampler, 4), order(Sampler(32 * 100, 3, 2), 4));
  EXPECT_NE(order(sampler, 4), order(Sampler(32 * 100, 4, 2), 4));
}

TEST(ChunkedOrder, ChunksOfOneAreTheFullOrder) {
  EXPECT_EQ(order(Sampler(100, 7, 1), 2), order(Sampler(100, 7), 2));
  EXPECT_EQ(order(Sampler(100, 7, 100), 2), order(Sampler(100, 7), 2));  // one chunk
  EXPECT_THROW(Sampler(5, 1, 0), Error);
}

// A checkpoint continues the order of the run that wrote it: these numbers, of an independent
// implementation in Python that builds whole windows, may never change.
TEST(ChunkedOrder, IsPartOfTheCheckpointFormat) {
  Sampler sampler(100, 7, 3);
  std::vector<int64_t> start;
  for (int64_t i = 0; i < 10; ++i) start.push_back(sampler.index(1, i));
  EXPECT_EQ(start, (std::vector<int64_t>{49, 18, 68, 14, 20, 89, 90, 86, 9, 69}));
  Sampler longer(1000, 9, 3);
  std::vector<int64_t> some;
  for (int64_t i = 0; i < 1000; i += 111) some.push_back(longer.index(4, i));
  EXPECT_EQ(some, (std::vector<int64_t>{701, 206, 93, 309, 896, 584, 891, 17, 533, 254}));
}

}  // namespace
}  // namespace spire

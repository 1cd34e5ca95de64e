// Tests sampler orders that keep chunks of a file together.
#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "engine/data/sampler.h"
#include "tests/data/sample_order.h"
#include "tests/data/test_files.h"

namespace spire {
namespace {

TEST(ChunkedOrder, IsAPermutationOfAnyCountAndChunk) {
  for (int64_t count = 1; count <= 130; ++count)
    for (int64_t chunk : {1, 2, 3, 5, 8, 40, 129, 130, 1000})
      for (int64_t epoch : {0, 1, 77}) {
        std::vector<int64_t> samples = order(Sampler(count, 5, chunk), epoch);
        std::ranges::sort(samples);
        ASSERT_EQ(samples, identity(count)) << count << " samples, chunk " << chunk;
      }
}

TEST(ChunkedOrder, IsAPermutationOfManyWindows) {
  for (int64_t count : {4095, 4096, 4097, 5000}) {
    std::vector<int64_t> samples = order(Sampler(count, 5, 4), 3);
    std::ranges::sort(samples);
    EXPECT_EQ(samples, identity(count));
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

TEST(ChunkedOrder, ReachesAllOfTheLargestCount) {
  Sampler sampler(Sampler::max_count, 5, 1000);
  std::set<int64_t> samples;
  for (int64_t i = 0; i < 4096; ++i) samples.insert(sampler.index(3, i * 268435399));
  EXPECT_EQ(samples.size(), 4096u);
  EXPECT_LT(*samples.rbegin(), Sampler::max_count);
  EXPECT_GE(*samples.begin(), 0);
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

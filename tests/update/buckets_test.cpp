// Tests how the gradient buffer is cut into buckets, and these into shares.
#include <gtest/gtest.h>

#include "engine/update/ownership.h"

namespace spire {
namespace {

TEST(Buckets, CoverTheBufferInWholeChunksTheFirstOneSmall) {
  constexpr int64_t chunk = TreeSum::chunk;
  for (int64_t total : {int64_t{0}, int64_t{1}, chunk, 10 * chunk + 7}) {
    auto buckets = make_buckets(total, 1, 3 * chunk - 5);
    int64_t next = 0;
    for (size_t b = 0; b < buckets.size(); ++b) {
      EXPECT_EQ(buckets[b].begin, next);
      EXPECT_EQ(next % chunk, 0);
      EXPECT_LE(buckets[b].size(), b == 0 ? chunk : 3 * chunk);
      next = buckets[b].end;
    }
    EXPECT_EQ(next, total);
  }
}

// Between GPUs 4 MiB a shard, from 25 to 64 in all.
TEST(Buckets, GrowWithTheNumberOfGpus) {
  constexpr int64_t mib = 1 << 18, total = 1000 * mib;  // floats
  auto second = [](DeviceKind kind, int members, double said) {
    return make_buckets(total, {.first_mib = 1, .mib = said}, kind, members)[1].size() / mib;
  };
  for (int members : {1, 8, 100}) EXPECT_EQ(second(DeviceKind::cpu, members, 0), 8);
  EXPECT_EQ(second(DeviceKind::cuda, 2, 0), 25);
  EXPECT_EQ(second(DeviceKind::cuda, 8, 0), 32);
  EXPECT_EQ(second(DeviceKind::cuda, 100, 0), 64);
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::cuda}) EXPECT_EQ(second(kind, 8, 3), 3);
}

TEST(Buckets, SharesAreDisjointWholeChunksAndEven) {
  constexpr int64_t chunk = TreeSum::chunk;
  FloatRange bucket{chunk, 12 * chunk + 100};
  for (int count : {1, 2, 5, 20}) {
    int64_t next = bucket.begin;
    for (int member = 0; member < count; ++member) {
      FloatRange share = share_of(bucket, member, member + 1, count);
      EXPECT_EQ(share.begin, next);
      EXPECT_LE(share.size(), (12 / count + 1) * chunk);
      next = share.end;
    }
    EXPECT_EQ(next, bucket.end);
    EXPECT_EQ(share_of(bucket, 0, count, count), bucket);
  }
}

}  // namespace
}  // namespace spire

// Tests the message for a shortage of memory, from numbers alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/train/memory/memory_limits.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using enum MemoryKind;

constexpr size_t gib = size_t{1} << 30;

// A GPU of 80 GiB, nothing of which is in use, and a run that needs 100.
MemoryShortage full_gpu(MemoryKind most) {
  MemoryShortage shortage{.device = {DeviceKind::cuda, 1},
                          .asked = {},
                          .in_use = {},
                          .planned = {},
                          .limit = {},
                          .free = 80 * gib,
                          .total = 80 * gib};
  for (MemoryKind kind : {weights, gradients, optimizer, activations, workspace})
    shortage.planned[kind] = (kind == most ? 80 : 5) * gib;
  shortage.asked = shortage.planned;
  return shortage;
}

TEST(OutOfMemory, NamesTheMissingBytesAndPrintsTheTable) {
  MemoryShortage shortage = full_gpu(activations);
  shortage.in_use = {{weights, 5 * gib}, {gradients, 5 * gib}};
  shortage.asked = {{activations, 80 * gib}};
  shortage.free = 70 * gib;
  EXPECT_EQ(out_of_memory_text(shortage, {.can_recompute = true}),
            "cuda:1: cannot allocate 80.0 GiB for activations; 70.0 GiB of its 80.0 GiB are free; "
            "set memory.recompute: blocks, which gives the same bits with less memory\n            "
            " planned    in use\nweights      5.0 GiB    5.0 GiB\ngradients    5.0 GiB    5.0 "
            "GiB\noptimizer    5.0 GiB    0 B\nactivations  80.0 GiB   0 B\nworkspace    5.0 GiB   "
            " 0 B\ntotal        100.0 GiB  10.0 GiB");
}

TEST(OutOfMemory, NamesTheRestOfTheLimitAndTheDevicesThatShareIt) {
  MemoryShortage shortage = full_gpu(weights);
  shortage.limit = 30 * gib;
  shortage.in_use = {{optimizer, 10 * gib}};
  EXPECT_THAT(out_of_memory_text(shortage, {}),
              StartsWith("cuda:1: cannot allocate 100.0 GiB, most of it for weights; memory.limit "
                         "allows 30.0 GiB, of which 10.0 GiB is in use; "));
  shortage.sharers = 2;
  EXPECT_THAT(out_of_memory_text(shortage, {}),
              HasSubstr("allows 30.0 GiB for each of 2 devices, of which 10.0 GiB is in use; "));
  shortage.sharers = 1;
  shortage.own_limit = "cuda:1:30GiB";
  EXPECT_THAT(out_of_memory_text(shortage, {}),
              HasSubstr("; its own limit, cuda:1:30GiB in devices, allows 30.0 GiB, of which "));
  shortage.free = 10 * gib;  // other processes use the rest
  EXPECT_THAT(out_of_memory_text(shortage, {}), HasSubstr("; 10.0 GiB of its 80.0 GiB are free; "));
  shortage.limit.reset();
  shortage.free.reset();
  EXPECT_THAT(out_of_memory_text(shortage, {}),
              HasSubstr("; the host does not provide more of its 80.0 "));
}

TEST(OutOfMemory, KnowsWithoutAPlanWhatWasAskedFor) {
  MemoryShortage shortage = full_gpu(weights);
  shortage.planned = {};
  shortage.asked = {{workspace, 90 * gib}};
  shortage.pools = 2;
  EXPECT_EQ(out_of_memory_text(shortage, {}),
            "cuda:1 (2 logical devices): cannot allocate 90.0 GiB for workspace; 80.0 GiB of its "
            "80.0 GiB are free; use a smaller model, or a device with more memory\n           "
            "planned  in use\nworkspace  -        0 B\ntotal      -        0 B");
}

// A limit was chosen for a reason: what the run can do within it comes first.
TEST(Remedy, NamesALimitThatIsTooLowAfterWhatFitsIt) {
  MemoryShortage shortage = full_gpu(activations);
  shortage.planned[activations] = 20 * gib;
  shortage.asked = shortage.planned;
  shortage.limit = 30 * gib;
  EXPECT_EQ(remedy(shortage, {.batch_size = 8, .can_recompute = true}),
            "set memory.recompute: blocks, which gives the same bits with less memory; "
            "memory.limit: 40.0GiB would be enough as it is, and the device has that much");
  shortage.own_limit = "cuda:1:30GiB";
  EXPECT_EQ(remedy(shortage, {.batch_size = 8}),
            "lower batch_size to about 4 (raise towers to keep the global batch); "
            "cuda:1:40.0GiB would be enough as it is, and the device has that much");
  shortage.own_limit.clear();
  shortage.sharers = 2;
  EXPECT_THAT(remedy(shortage, {.batch_size = 8}), HasSubstr("; memory.limit: 80.0GiB would be "));
  shortage.sharers = 3;
  EXPECT_THAT(remedy(shortage, {.batch_size = 8}), Not(HasSubstr("memory.limit")));
  shortage.sharers = 1;
  shortage.free = 39 * gib;
  EXPECT_THAT(remedy(shortage, {.batch_size = 8}), Not(HasSubstr("memory.limit")));
}

TEST(Remedy, IsNoSnapshotWhereThatAloneIsTooMuch) {
  MemoryShortage shortage = full_gpu(optimizer);
  shortage.device = {};
  shortage.planned = {{optimizer, 60 * gib}, {MemoryKind::checkpoint, 30 * gib}};
  shortage.asked = shortage.planned;
  EXPECT_THAT(remedy(shortage, {}), StartsWith("set checkpoint.snapshot: auto, "));
  shortage.planned[optimizer] = shortage.asked[optimizer] = 80 * gib;
  EXPECT_THAT(remedy(shortage, {}), StartsWith("use more devices"));
}

TEST(OutOfMemory, NamesWhatLimitsTheHost) {
  MemoryShortage shortage = full_gpu(activations);
  shortage.device = {};
  shortage.limited_by = "ulimit -v, 80.0 GiB";
  EXPECT_THAT(out_of_memory_text(shortage, {}),
              HasSubstr("; 80.0 GiB are free of ulimit -v, 80.0 GiB; "));
}

TEST(Remedy, OfActivationsIsRecomputationThenFewerSamples) {
  MemoryShortage shortage = full_gpu(activations);
  EXPECT_THAT(remedy(shortage, {.batch_size = 8, .can_recompute = true}),
              StartsWith("set memory.recompute: blocks"));
  // 20 GiB are fixed, and 60 are left for activations: 60 / 80 of the samples.
  EXPECT_EQ(remedy(shortage, {.batch_size = 8}),
            "lower batch_size to about 6 (raise towers to keep the global batch)");
  shortage.free = 20 * gib;
  EXPECT_EQ(remedy(shortage, {.batch_size = 8}),
            "lower batch_size from 8 (raise towers to keep the global batch)");
  EXPECT_THAT(remedy(shortage, {.batch_size = 1}), StartsWith("use a smaller model"));
}

TEST(Remedy, NamesASmallerBatchThanTheConfigHas) {
  MemoryShortage shortage = full_gpu(activations);
  shortage.free = 200 * gib;  // but not contiguous
  EXPECT_THAT(remedy(shortage, {.batch_size = 8}), StartsWith("lower batch_size to about 7"));
}

TEST(Remedy, OfTheOptimizerIsSharing) {
  MemoryShortage shortage = full_gpu(optimizer);
  EXPECT_THAT(remedy(shortage, {.devices = 2}), StartsWith("set strategy: sharded"));
  shortage.pools = 2;  // all of them on this GPU: there is no other to take a shard
  EXPECT_THAT(remedy(shortage, {.devices = 2}), StartsWith("use more devices with strategy: sha"));
  shortage.pools = 1;
  EXPECT_THAT(remedy(shortage, {.devices = 1}), StartsWith("use more devices with strategy: sha"));
  EXPECT_THAT(remedy(shortage, {.devices = 2, .sharded = true}), StartsWith("use more devices, "));
}

TEST(Remedy, OfTheRestIsALargerDevice) {
  EXPECT_THAT(remedy(full_gpu(weights), {}), StartsWith("use a smaller model"));
  EXPECT_THAT(remedy(full_gpu(gradients), {}), StartsWith("use more devices: with fewer towers"));
}

}  // namespace
}  // namespace spire

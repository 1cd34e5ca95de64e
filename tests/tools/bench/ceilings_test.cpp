// Tests what ceilings count and which of them there are; speeds are the machine's own.
#include "tools/bench/limits/ceilings.h"

#include <atomic>
#include <cmath>

#include <gmock/gmock.h>

#include "tests/base/message_of.h"
#include "tests/train/device_kinds.h"

namespace spire {
namespace {

using testing::HasSubstr;

CeilingOptions small() {
  return {.products = {{16, 8, 32}},
          .copy_bytes = 1 << 12,
          .sum_floats = 3 * 4096,
          .bucket = {.first_mib = 1.0 / 32, .mib = 1.0 / 32},
          .repeats = {.round_seconds = 0, .seconds = 0, .rounds = 1}};
}

class CeilingsTest : public OnEachKind {
 protected:
  static Kind kind() { return on_gpu() ? Kind::cuda : Kind::cpu; }
  void need_two_devices() {
    if (!IsSkipped() && on_gpu() && discover_cuda().devices.size() < 2)
      GTEST_SKIP() << "needs two GPUs";
  }
};

void expect_speed(double per_s) {
  EXPECT_GT(per_s, 0);
  EXPECT_TRUE(std::isfinite(per_s));
}

TEST_P(CeilingsTest, OfOneDevice) {
  Ceilings ceilings = measure_ceilings(kind(), 1, small());
  EXPECT_EQ(ceilings.kind, kind());
  EXPECT_EQ(ceilings.devices, 1);
  expect_speed(ceilings.fp32_flops_per_s);
  expect_speed(ceilings.bf16_flops_per_s);
  expect_speed(ceilings.copy_bytes_per_s);
  EXPECT_EQ(ceilings.fp16_flops_per_s > 0, on_gpu());
  EXPECT_EQ(ceilings.all_reduce_bytes_per_s, 0);
}

TEST_P(CeilingsTest, OfTwoDevices) {
  need_two_devices();
  if (IsSkipped()) return;
  Ceilings ceilings = measure_ceilings(kind(), 2, small());
  expect_speed(ceilings.fp32_flops_per_s);
  expect_speed(ceilings.all_reduce_bytes_per_s);
}

// As many threads multiply and copy as all CPU devices have; one of each device adds.
TEST_P(CeilingsTest, UseAllThreadsOfADevice) {
  need_two_devices();
  if (IsSkipped()) return;
  EXPECT_EQ(DeviceTeam(kind(), 2, 3).size(), on_gpu() ? 2 : 6);
  CeilingOptions options = small();
  options.device_threads = 3;
  Ceilings ceilings = measure_ceilings(kind(), 2, options);
  EXPECT_EQ(ceilings.devices, 2);
  EXPECT_EQ(ceilings.threads, on_gpu() ? 1 : 3);
  expect_speed(ceilings.fp32_flops_per_s);
  expect_speed(ceilings.copy_bytes_per_s);
  expect_speed(ceilings.all_reduce_bytes_per_s);
}

TEST_P(CeilingsTest, LeaveNoMemoryInUse) {
  need_two_devices();
  if (IsSkipped()) return;
  DeviceTeam team(kind(), 2);
  product_flops_per_s(team, DType::f32, small());
  copy_bytes_per_s(team, small());
  all_reduce_bytes_per_s(team, small());
  for (int lane : {0, 1}) {
    EXPECT_EQ(team.pool(lane).in_use(), MemoryUse{});
    EXPECT_EQ(team.pool(lane).peak()[MemoryKind::gradients], 3u * 4096 * sizeof(float));
  }
}

TEST_P(CeilingsTest, EveryLaneTakesPartInEveryRound) {
  need_two_devices();
  if (IsSkipped()) return;
  DeviceTeam team(kind(), 2);
  std::atomic<int> calls[2] = {}, begins = 0;
  team.best_seconds({.round_seconds = 0, .seconds = 0, .rounds = 5},
                    [&](int lane) { ++calls[lane]; });
  EXPECT_EQ(calls[0], 2 + 5);  // a warm-up, one that tells the length of a round, the rounds
  EXPECT_EQ(calls[1], 2 + 5);
  team.best_seconds(
      {.round_seconds = 0, .seconds = 0, .rounds = 5}, [&] { ++begins; },
      [&](int lane) { ++calls[lane]; });
  EXPECT_EQ(begins, 1 + 5);
  EXPECT_EQ(calls[1], 2 + 5 + 1 + 5);
}

SPIRE_TEST_ON_EACH_KIND(CeilingsTest);

TEST(Ceilings, NeedTheirGpus) {
  EXPECT_THAT(message_of(Category::device, [] { measure_ceilings(Kind::cuda, 1000, small()); }),
              HasSubstr("GPUs needed, but the machine has"));
}

TEST(Ceilings, DefaultsExceedTheCacheAndFitTheMemory) {
  CeilingOptions options = default_ceiling_options(Kind::cpu, 2, {});
  EXPECT_GE(options.products.size(), 3u);
  EXPECT_GT(options.copy_bytes, 0);
  EXPECT_LE(options.copy_bytes, static_cast<int64_t>(space_of({}).free.value() / 4));
}

TEST(Ceilings, FollowTheConfig) {
  RunConfig config;
  config.tower_threads = 3;
  config.bucket.mib = 2;
  config.cuda.tf32 = true;
  CeilingOptions options = default_ceiling_options(Kind::cpu, 2, config);
  EXPECT_EQ(options.device_threads, 3);
  EXPECT_EQ(options.bucket.mib, 2);
  EXPECT_TRUE(options.tf32);
}

}  // namespace
}  // namespace spire

// Tests the loss scale of fp16: it halves where gradients overflow, doubles after enough good
// steps.
#include "engine/update/loss_scale.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

LossScaleConfig small_config() {
  return {.initial = 1024, .minimum = 256, .growth_interval = 3, .max_skips = 4};
}

TEST(LossScale, StaysOneInOtherPrecisions) {
  LossScale scale(small_config(), false);
  for (int i = 0; i < 10; ++i) scale.record(i % 2 == 0);
  EXPECT_EQ(scale.value(), 1);
  EXPECT_EQ(scale.state().skipped, 0);
}

TEST(LossScale, DoublesAfterGoodStepsInARow) {
  LossScale scale(small_config(), true);
  for (double want : {1024, 1024, 2048, 2048, 2048, 4096}) {
    scale.record(false);
    EXPECT_EQ(scale.value(), want);
  }
}

TEST(LossScale, HalvesAtAnOverflowDownToItsMinimum) {
  LossScale scale(small_config(), true);
  scale.record(false);
  scale.record(false);
  for (double want : {512, 256, 256}) {
    scale.record(true);
    EXPECT_EQ(scale.value(), want);
  }
  EXPECT_EQ(scale.state().skipped, 3);
  scale.record(false);  // the count of good steps began anew
  scale.record(false);
  EXPECT_EQ(scale.value(), 256);
  scale.record(false);
  EXPECT_EQ(scale.value(), 512);
}

TEST(LossScale, TooManySkipsInARowEndTheRun) {
  LossScale scale(small_config(), true);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) scale.record(true);
    scale.record(false);
  }
  for (int i = 0; i < 3; ++i) scale.record(true);
  EXPECT_THAT(message_of(Category::diverged, [&] { scale.record(true); }),
              testing::HasSubstr("overflowed fp16 in 4 steps in a row"));
}

TEST(LossScale, ContinuesFromACheckpoint) {
  LossScale straight(small_config(), true), resumed(small_config(), true);
  for (bool overflowed : {false, true, false, false}) straight.record(overflowed);
  resumed.restore(straight.state());
  for (bool overflowed : {false, false, false, true}) {
    straight.record(overflowed);
    resumed.record(overflowed);
    EXPECT_EQ(resumed.value(), straight.value());
  }
}

}  // namespace
}  // namespace spire

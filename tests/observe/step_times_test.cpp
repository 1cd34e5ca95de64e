// Parts of a step against the step itself.
#include "engine/observe/step_times.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

StepTimes lane_parts() {
  return {.copy = 0.5, .forward = 2, .backward = 4, .reduce = 1, .update = 0.25, .replicate = 0.25};
}

TEST(StepTimes, AllPartsAreTheWholeStep) {
  StepTimes times = complete_times(lane_parts(), 1.5, 10);
  EXPECT_EQ(times.data, 1.5);
  EXPECT_EQ(times.other, 0.5);
  EXPECT_EQ(times.forward, 2);
  EXPECT_EQ(total_of(times), 10);
}

// A GPU works while the host waits for the next batch.
TEST(StepTimes, OnlyWaitingThatDelaysTheStepIsOfData) {
  StepTimes times = complete_times(lane_parts(), 6, 10);
  EXPECT_EQ(times.data, 2);
  EXPECT_EQ(times.other, 0);
  EXPECT_EQ(total_of(times), 10);
}

TEST(StepTimes, LanePartsThatExceedTheStepShrinkToIt) {
  StepTimes times = complete_times(lane_parts(), 1, 4);  // half of the lanes' 8 seconds
  EXPECT_EQ(times.data, 0);
  EXPECT_EQ(times.other, 0);
  for (const StepPart& part : step_parts)
    EXPECT_EQ(times.*part.seconds, 0.5 * lane_parts().*part.seconds) << part.name;
}

TEST(StepTimes, NothingMeasuredIsOther) {
  StepTimes times = complete_times({}, 0, 3);
  EXPECT_EQ(times.other, 3);
  EXPECT_EQ(total_of(times), 3);
}

TEST(StepTimes, MeansAreOfEachPart) {
  StepTimes sum = lane_parts();
  sum += lane_parts() * 3;
  StepTimes mean = sum * 0.5;
  for (const StepPart& part : step_parts)
    EXPECT_EQ(mean.*part.seconds, 2 * lane_parts().*part.seconds) << part.name;
}

}  // namespace
}  // namespace spire

#include "engine/observe/records.h"

#include <cmath>

#include <gtest/gtest.h>

#include <spire/metric.h>

namespace spire {
namespace {

// Two series of one name would make Prometheus refuse the whole page.
TEST(DeviceNames, AreUniqueWithinARank) {
  StartInfo start;
  start.devices = {{"cuda:0", "", 1, {}},
                   {"cuda:0", "", 1, {}},
                   {"cuda:1", "", 1, {}},
                   {"cuda:0", "", 1, {}, 1},
                   {"cuda:0", "", 1, {}, 1}};
  EXPECT_EQ(unique_device_names(start),
            (std::vector<std::string>{"cuda:0", "cuda:0#2", "cuda:1", "cuda:0", "cuda:0#2"}));
}

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

TEST(Metric, IsComputedFromMeans) {
  EXPECT_EQ(measure(Metric::accuracy, 0.3, 0.91).value, 0.91);
  EXPECT_EQ(measure(Metric::perplexity, std::log(32.0), 0.5).value, std::exp(std::log(32.0)));
  EXPECT_NEAR(measure(Metric::psnr, 9, 0.001).value, 30, 1e-12);  // 10 log10(1 / 0.001)
  EXPECT_EQ(measure(Metric::rmse, 9, 0.25).value, 0.5);
}

TEST(Metric, KnowsWhichValueIsBetter) {
  EXPECT_TRUE(better(Metric::accuracy, 0.9, 0.8));
  EXPECT_TRUE(better(Metric::psnr, 25, 24));
  EXPECT_TRUE(better(Metric::perplexity, 4, 5));
  EXPECT_TRUE(better(Metric::rmse, 0.1, 0.2));
  for (Metric metric : {Metric::accuracy, Metric::perplexity, Metric::psnr, Metric::rmse}) {
    EXPECT_FALSE(better(metric, 1, 1));
    EXPECT_FALSE(better(metric, std::nan(""), 1));
    EXPECT_FALSE(better(metric, std::nan(""), std::nan("")));
    EXPECT_TRUE(better(metric, 1e9, std::nan("")));  // the first number after a NaN
  }
}

TEST(Metric, HasALongAndAShortText) {
  EXPECT_EQ(metric_text({Metric::accuracy, -std::numeric_limits<double>::quiet_NaN()}), "nan%");
  EXPECT_EQ(metric_text({Metric::accuracy, 0.92942}), "92.94%");
  EXPECT_EQ(short_text({Metric::accuracy, 0.92942}), "92.9%");
  EXPECT_EQ(metric_text({Metric::psnr, 24.318}), "24.32 dB");
  EXPECT_EQ(metric_text({Metric::perplexity, 4.5321}), "4.532");
  EXPECT_EQ(metric_text({Metric::rmse, 0.12345}), "0.1235");
  EXPECT_EQ(to_string(Metric::perplexity), "perplexity");
  EXPECT_EQ(short_name(Metric::perplexity), "ppl");
}

}  // namespace
}  // namespace spire

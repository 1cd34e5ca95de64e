// Sums over steps against closed forms.
#include "engine/observe/device_history.h"

#include <gtest/gtest.h>

#include "tests/observe/reports.h"

namespace spire {
namespace {

TEST(DeviceHistory, MeansOfFirstMedianAndLast) {
  MadeSteps steps(4);
  DeviceHistory history(4);
  // Sorted: 1 2 4 8 and 2 4 8 16. The lower middle one is the median.
  for (double factor : {1.0, 2.0})
    history.add(steps.at({8 * factor, factor, 4 * factor, 2 * factor}));
  EXPECT_EQ(history.steps(), 2);
  EXPECT_EQ(history.first_ms(), (1 + 2) / 2.0);
  EXPECT_EQ(history.median_ms(), (2 + 4) / 2.0);
  EXPECT_EQ(history.last_ms(), (8 + 16) / 2.0);
  // Each waits for the last one.
  EXPECT_EQ(history.devices()[0].waiting_ms, 0);
  EXPECT_EQ(history.devices()[1].waiting_ms, 7 + 14);
  EXPECT_EQ(history.devices()[2].waiting_ms, 4 + 8);
}

TEST(DeviceHistory, NamesTheDeviceThatIsLastInMostSteps) {
  MadeSteps steps(3);
  DeviceHistory history(3);
  for (int i = 0; i < 6; ++i) history.add(steps.at({10, 11, 13}));  // 2 of 11 late
  for (int i = 0; i < 2; ++i) history.add(steps.at({10, 11, 22}));  // 11 of 11
  for (int i = 0; i < 2; ++i) history.add(steps.at({30, 11, 10}));
  auto straggler = history.straggler();
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->device, 2u);
  EXPECT_DOUBLE_EQ(straggler->share, 0.8);
  EXPECT_DOUBLE_EQ(straggler->lag, (6 * 2 + 2 * 11) / (8 * 11.0));
}

TEST(DeviceHistory, OfTwoDevicesTheOtherIsTheMedian) {
  MadeSteps steps(2);
  DeviceHistory history(2);
  history.add(steps.at({10, 15}));
  EXPECT_DOUBLE_EQ(history.straggler()->lag, 0.5);
}

TEST(DeviceHistory, EqualArrivalsAndASingleDeviceHaveNoStraggler) {
  MadeSteps pair(2), one(1);
  DeviceHistory two(2), alone(1);
  for (int i = 0; i < 5; ++i) {
    two.add(pair.at({10, 10}));
    alone.add(one.at({10}));
  }
  EXPECT_FALSE(two.straggler());
  EXPECT_FALSE(alone.straggler());
  EXPECT_FALSE(DeviceHistory(2).straggler());
}

TEST(DeviceHistory, StatesCountForTheTimeInWhichTheyAreKnown) {
  MadeSteps steps(1);
  DeviceHistory history(1);
  steps.step_ms = 1000;
  history.add(steps.at({1}));  // nothing is known yet
  steps.devices[0].busy = 1.0;
  steps.devices[0].clock_mhz = 1000;
  steps.devices[0].max_clock_mhz = 1980;
  history.add(steps.at({1}));
  steps.step_ms = 3000;
  steps.devices[0].busy = 0.2;
  steps.devices[0].clock_mhz = 1400;
  steps.devices[0].throttle_reasons = {"idle", "heat"};
  history.add(steps.at({1}));
  const DeviceTotals& totals = history.devices()[0];
  EXPECT_DOUBLE_EQ(history.seconds(), 5);
  EXPECT_DOUBLE_EQ(totals.busy.mean(), (1 * 1.0 + 3 * 0.2) / 4);
  EXPECT_DOUBLE_EQ(totals.clock_mhz.mean(), (1000 + 3 * 1400) / 4.0);
  EXPECT_EQ(totals.max_clock_mhz, 1980);
  // Having no work is no fault.
  EXPECT_EQ(history.throttled(0), (std::pair<std::string, double>("heat", 3)));
  history.clear();
  EXPECT_EQ(history.steps(), 0);
  EXPECT_FALSE(history.throttled(0));
  EXPECT_EQ(history.last_ms(), 0);
}

TEST(DeviceHistory, StepsWithoutReportsCountNothing) {
  DeviceHistory history(2);
  history.add(sample_step());
  EXPECT_EQ(history.steps(), 0);
}

}  // namespace
}  // namespace spire

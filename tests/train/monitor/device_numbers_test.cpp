// Numbers of devices and the reports that are made of them.
#include "engine/train/monitor/device_numbers.h"

#include <cmath>

#include <gmock/gmock.h>

namespace spire {
namespace {

using enum DeviceNumber;
using testing::ElementsAre;
using testing::IsEmpty;

GpuState made_state() {
  GpuState state;
  state.memory = {.total = 1000, .used = 300, .free = 680};
  state.mig_memory = {std::nullopt, GpuMemory{.total = 400, .used = 40, .free = 360}};
  state.compute_percent = 91;
  state.celsius = 63;
  state.watts = 250.5;
  state.limit_watts = 300;
  state.sm_mhz = 1410;
  state.max_sm_mhz = 1980;
  state.throttle_reasons = {ThrottleReason::power_cap, ThrottleReason::reliability};
  state.ecc_uncorrected = 2;
  state.ecc_corrected = 5;
  state.nvlink_sent = uint64_t{1} << 53;
  state.nvlink_received = 7;
  state.last_xid = 79;
  return state;
}

DeviceReport report_of(DeviceNumbers numbers, double arrival_ms = 0) {
  number_of(DeviceNumber::arrival_ms, numbers) = arrival_ms;
  DeviceReports reports(1);
  return reports.read(numbers)[0];
}

TEST(DeviceNumbers, CarryAStateIntoAReport) {
  DeviceReport report = report_of(numbers_of(made_state(), {}), 12.5);
  EXPECT_EQ(report.arrival_ms, 12.5);
  EXPECT_DOUBLE_EQ(report.busy.value(), 0.91);
  EXPECT_EQ(report.memory_used, 300u);
  EXPECT_EQ(report.memory_total, 1000u);
  EXPECT_EQ(report.celsius, 63);
  EXPECT_EQ(report.watts, 250.5);
  EXPECT_EQ(report.limit_watts, 300);
  EXPECT_EQ(report.clock_mhz, 1410);
  EXPECT_EQ(report.max_clock_mhz, 1980);
  EXPECT_THAT(report.throttle_reasons, ElementsAre("power cap", "reliability"));
  EXPECT_EQ(report.ecc_errors, 2u);
  EXPECT_EQ(report.ecc_corrected, 5u);
  EXPECT_EQ(report.link_sent, uint64_t{1} << 53);
  EXPECT_EQ(report.link_received, 7u);
  EXPECT_EQ(report.last_xid, 79);
}

TEST(DeviceNumbers, OfAMigDeviceHaveItsMemory) {
  EXPECT_EQ(report_of(numbers_of(made_state(), 1)).memory_total, 400u);
  EXPECT_FALSE(report_of(numbers_of(made_state(), 0)).memory_total);
  EXPECT_FALSE(report_of(numbers_of(made_state(), 2)).memory_used);
}

TEST(DeviceNumbers, WhatIsUnknownIsEmpty) {
  for (const DeviceNumbers& numbers : {unknown_numbers, numbers_of(GpuState{}, {})}) {
    for (double number : numbers) EXPECT_TRUE(std::isnan(number));
    DeviceReport report = report_of(numbers);
    EXPECT_FALSE(report.busy || report.memory_used || report.memory_total || report.celsius ||
                 report.watts || report.limit_watts || report.clock_mhz || report.max_clock_mhz ||
                 report.ecc_errors || report.ecc_corrected || report.link_sent ||
                 report.link_received || report.last_xid);
    EXPECT_THAT(report.throttle_reasons, IsEmpty());
  }
}

TEST(DeviceReports, FollowTheReasonsOfEachDevice) {
  DeviceReports reports(2);
  std::vector<double> numbers(2 * device_numbers, unknown_number);
  constexpr auto at = device_numbers + static_cast<size_t>(throttle_reasons);
  constexpr std::array heat = {ThrottleReason::heat};
  numbers[at] = throttle_number(heat);
  EXPECT_THAT(reports.read(numbers)[1].throttle_reasons, ElementsAre("heat"));
  EXPECT_THAT(reports.read(numbers)[1].throttle_reasons, ElementsAre("heat"));
  EXPECT_THAT(reports.read(numbers)[0].throttle_reasons, IsEmpty());
  numbers[at] = 0;
  EXPECT_THAT(reports.read(numbers)[1].throttle_reasons, IsEmpty());
}

}  // namespace
}  // namespace spire

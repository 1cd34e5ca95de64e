#include "engine/train/monitor/device_numbers.h"

#include <cmath>

#include "engine/base/fail.h"

namespace spire {
namespace {

constexpr auto last_reason = static_cast<unsigned>(ThrottleReason::reliability);

template <typename Value>
double number(const std::optional<Value>& value, double scale = 1) {
  return value ? scale * static_cast<double>(*value) : unknown_number;
}

// Counts of bytes up to 2^53 are exact.
template <typename Value>
void take(double number, std::optional<Value>& value) {
  value = std::isnan(number) ? std::nullopt : std::optional(static_cast<Value>(number));
}

void list_reasons(uint64_t bits, std::vector<std::string>& words) {
  words.clear();
  for (unsigned reason = 0; reason <= last_reason; ++reason)
    if (bits >> reason & 1) words.emplace_back(to_string(static_cast<ThrottleReason>(reason)));
}

}  // namespace

double throttle_number(std::span<const ThrottleReason> reasons) {
  uint64_t bits = 0;
  for (ThrottleReason reason : reasons) bits |= uint64_t{1} << static_cast<unsigned>(reason);
  return static_cast<double>(bits);
}

DeviceNumbers numbers_of(const GpuState& state, std::optional<size_t> mig) {
  std::optional<GpuMemory> memory = memory_of(state, mig);
  DeviceNumbers numbers = unknown_numbers;
  auto set = [&](DeviceNumber which, double value) { number_of(which, numbers) = value; };
  set(DeviceNumber::busy, number(state.compute_percent, 0.01));
  if (memory) {
    set(DeviceNumber::memory_used, static_cast<double>(memory->used));
    set(DeviceNumber::memory_total, static_cast<double>(memory->total));
  }
  set(DeviceNumber::celsius, number(state.celsius));
  set(DeviceNumber::watts, number(state.watts));
  set(DeviceNumber::limit_watts, number(state.limit_watts));
  set(DeviceNumber::clock_mhz, number(state.sm_mhz));
  set(DeviceNumber::max_clock_mhz, number(state.max_sm_mhz));
  if (state.throttle_reasons)
    set(DeviceNumber::throttle_reasons, throttle_number(*state.throttle_reasons));
  set(DeviceNumber::ecc_errors, number(state.ecc_uncorrected));
  set(DeviceNumber::ecc_corrected, number(state.ecc_corrected));
  set(DeviceNumber::link_sent, number(state.nvlink_sent));
  set(DeviceNumber::link_received, number(state.nvlink_received));
  set(DeviceNumber::last_xid, number(state.last_xid));
  return numbers;
}

DeviceReports::DeviceReports(size_t devices) : reports_(devices), throttle_(devices) {
  for (DeviceReport& report : reports_) report.throttle_reasons.reserve(last_reason + 1);
}

std::span<const DeviceReport> DeviceReports::read(std::span<const double> numbers) {
  require(numbers.size() == reports_.size() * device_numbers, "numbers of other devices");
  for (size_t d = 0; d < reports_.size(); ++d) {
    DeviceReport& report = reports_[d];
    auto at = [&](DeviceNumber which) {
      return numbers[d * device_numbers + static_cast<size_t>(which)];
    };
    auto measured = [&](DeviceNumber which) { return std::isnan(at(which)) ? 0 : at(which); };
    double throttle = at(DeviceNumber::throttle_reasons);
    report.arrival_ms = measured(DeviceNumber::arrival_ms);
    report.data_ms = measured(DeviceNumber::data_ms);
    report.lane_wait_ms = measured(DeviceNumber::lane_wait_ms);
    take(at(DeviceNumber::busy), report.busy);
    take(at(DeviceNumber::memory_used), report.memory_used);
    take(at(DeviceNumber::memory_total), report.memory_total);
    take(at(DeviceNumber::celsius), report.celsius);
    take(at(DeviceNumber::watts), report.watts);
    take(at(DeviceNumber::limit_watts), report.limit_watts);
    take(at(DeviceNumber::clock_mhz), report.clock_mhz);
    take(at(DeviceNumber::max_clock_mhz), report.max_clock_mhz);
    take(at(DeviceNumber::ecc_errors), report.ecc_errors);
    take(at(DeviceNumber::ecc_corrected), report.ecc_corrected);
    take(at(DeviceNumber::link_sent), report.link_sent);
    take(at(DeviceNumber::link_received), report.link_received);
    take(at(DeviceNumber::last_xid), report.last_xid);
    take(at(DeviceNumber::others_cores), report.others_cores);
    uint64_t bits = std::isnan(throttle) ? 0 : static_cast<uint64_t>(throttle);
    if (bits != throttle_[d]) list_reasons(bits, report.throttle_reasons);
    throttle_[d] = bits;
  }
  return reports_;
}

}  // namespace spire

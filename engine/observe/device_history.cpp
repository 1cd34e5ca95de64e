#include "engine/observe/device_history.h"

#include <algorithm>

#include "engine/observe/device_watch.h"

namespace spire {
namespace {

constexpr size_t usual_reasons = 4;  // that a device has in a run, at most

void add_state(DeviceTotals& totals, const DeviceReport& report, double seconds) {
  if (report.busy) totals.busy.add(*report.busy, seconds);
  if (report.clock_mhz) totals.clock_mhz.add(*report.clock_mhz, seconds);
  if (report.others_cores) totals.others_cores.add(*report.others_cores, seconds);
  if (report.max_clock_mhz) totals.max_clock_mhz = *report.max_clock_mhz;
  for (const std::string& reason : report.throttle_reasons) {
    auto known =
        std::ranges::find(totals.throttled, reason, &std::pair<std::string, double>::first);
    if (known == totals.throttled.end()) known = totals.throttled.insert(known, {reason, 0.0});
    known->second += seconds;
  }
}

}  // namespace

DeviceHistory::DeviceHistory(size_t devices) : devices_(devices), order_(devices) {
  clear();
}

void DeviceHistory::clear() {
  for (DeviceTotals& totals : devices_) {
    totals = {};
    totals.throttled.reserve(usual_reasons);
  }
  steps_ = 0;
  seconds_ = first_ = median_ = last_ = 0;
}

void DeviceHistory::add(const StepReport& step) {
  if (step.devices.empty() || step.devices.size() != devices_.size()) return;
  double seconds = step.step_ms / 1e3;
  ++steps_;
  seconds_ += seconds;
  add_arrivals(step.devices);
  for (size_t d = 0; d < devices_.size(); ++d) add_state(devices_[d], step.devices[d], seconds);
}

void DeviceHistory::add_arrivals(std::span<const DeviceReport> reports) {
  size_t slowest = 0;
  for (size_t d = 0; d < reports.size(); ++d) {
    order_[d] = reports[d].arrival_ms;
    if (order_[d] > order_[slowest]) slowest = d;
  }
  double last = order_[slowest];
  add_waits(reports, last);
  std::ranges::sort(order_);
  double median = order_[(order_.size() - 1) / 2];
  first_ += order_.front();
  median_ += median;
  last_ += last;
  if (last <= median) return;
  DeviceTotals& totals = devices_[slowest];
  ++totals.last;
  totals.late_ms += last - median;
  totals.median_ms += median;
}

// last_arrival: as if no device had waited for its data.
void DeviceHistory::add_waits(std::span<const DeviceReport> reports, double last_arrival) {
  auto ready = [](const DeviceReport& report) { return report.data_ms + report.arrival_ms; };
  auto last = std::ranges::max_element(reports, {}, ready);
  for (size_t d = 0; d < reports.size(); ++d) {
    devices_[d].waiting_ms += ready(*last) - ready(reports[d]);
    devices_[d].lane_wait_ms += reports[d].lane_wait_ms;
  }
  devices_[static_cast<size_t>(last - reports.begin())].data_late_ms += ready(*last) - last_arrival;
}

std::optional<Straggler> DeviceHistory::straggler() const {
  auto most = std::ranges::max_element(devices_, {}, &DeviceTotals::last);
  if (most == devices_.end() || most->last == 0 || most->median_ms <= 0) return std::nullopt;
  return Straggler{.device = static_cast<size_t>(most - devices_.begin()),
                   .share = static_cast<double>(most->last) / static_cast<double>(steps_),
                   .lag = most->late_ms / most->median_ms};
}

std::optional<std::pair<std::string, double>> DeviceHistory::throttled(size_t device) const {
  std::optional<std::pair<std::string, double>> longest;
  for (const auto& [reason, seconds] : devices_[device].throttled) {
    if (throttle_words(reason) && (!longest || seconds > longest->second))
      longest.emplace(reason, seconds);
  }
  return longest;
}

}  // namespace spire

#include "engine/observe/device_watch.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/base/text.h"

namespace spire {

// Left out are a GPU without work ("idle"), clocks that somebody has set, and limits of the board's
// kind: they say nothing about a fault.
const ThrottleWords* throttle_words(std::string_view reason) {
  constexpr std::string_view cooling = "improve its cooling";
  static constexpr std::array words = {
      ThrottleWords{"heat", "throttled by heat", cooling},
      ThrottleWords{"heat (hardware)", "throttled by heat", cooling},
      ThrottleWords{"hardware slowdown", "slowed by its board",
                    "check its cooling and power supply"},
      ThrottleWords{"power brake", "slowed by the power brake", "check the power supply"},
      ThrottleWords{"power cap", "held at its power limit",
                    "nvidia-smi -pl raises it as far as the board allows"}};
  auto found = std::ranges::find(words, reason, &ThrottleWords::reason);
  return found == words.end() ? nullptr : &*found;
}

namespace {

// ": 93 °C, 1200 of 1980 MHz", as far as it is known
std::string reading_text(const DeviceReport& report) {
  std::string text;
  if (report.celsius) text = fmt::format(": {:.0f} °C", *report.celsius);
  if (report.clock_mhz && report.max_clock_mhz)
    text += fmt::format("{} {} of {} MHz", text.empty() ? ":" : ",", *report.clock_mhz,
                        *report.max_clock_mhz);
  return text;
}

constexpr double lasting_share = 0.5;  // of the steps in which a cause must hold

// The reason that lowered the clock in most of the time; null: none did.
const ThrottleWords* lasting_throttle(const DeviceHistory& of, size_t device) {
  auto throttled = of.throttled(device);
  bool lasting = throttled && throttled->second >= lasting_share * of.seconds();
  return lasting ? throttle_words(throttled->first) : nullptr;
}

// "" or " at 1200 of 1980 MHz"
std::string clock_text(const DeviceTotals& totals) {
  if (totals.clock_mhz.seconds <= 0 || totals.max_clock_mhz <= 0) return "";
  return fmt::format(" at {:.0f} of {} MHz", totals.clock_mhz.mean(), totals.max_clock_mhz);
}

int64_t least_towers(const std::vector<DeviceLabel>& labels) {
  return std::ranges::min_element(labels, {}, &DeviceLabel::towers)->towers;
}

}  // namespace

HealthWatch::HealthWatch(const std::vector<std::string>& names) {
  for (const std::string& name : names) devices_.push_back({.name = name});
}

std::vector<std::string> HealthWatch::add(std::span<const DeviceReport> reports) {
  std::vector<std::string> warnings;
  for (size_t d = 0; d < std::min(devices_.size(), reports.size()); ++d)
    if (!devices_[d].name.empty()) look(devices_[d], reports[d], warnings);
  return warnings;
}

void HealthWatch::look(Device& device, const DeviceReport& report,
                       std::vector<std::string>& warnings) {
  auto warn = [&](const std::string& text) { warnings.push_back(device.name + text); };
  if (report.last_xid && device.xids.insert(*report.last_xid).second)
    warn(
        fmt::format(" has reported error XID {}; look it up in NVIDIA's list of XID errors; dmesg "
                    "has the lines of the driver",
                    *report.last_xid));

  if (report.ecc_errors) {
    uint64_t before = device.uncorrected.value_or(*report.ecc_errors);
    if (*report.ecc_errors > before)
      warn(
          fmt::format(" has had {} that its memory could not correct; end the run and type: "
                      "nvidia-smi --gpu-reset; replace the GPU if the errors come back",
                      counted(static_cast<int64_t>(*report.ecc_errors - before), "error")));
    device.uncorrected = report.ecc_errors;
  }
  if (report.ecc_corrected && !device.corrected) device.corrected = report.ecc_corrected;
  if (report.ecc_corrected && *report.ecc_corrected > *device.corrected &&
      !std::exchange(device.told_corrected, true))
    warn(
        " has corrected errors of its memory; the results are right, but many of them come before "
        "a failure: nvidia-smi -q -d ECC counts them");

  for (const std::string& reason : report.throttle_reasons) {
    const ThrottleWords* words = reason == "power cap" ? nullptr : throttle_words(reason);
    if (!words || std::ranges::find(device.causes, words->text) != device.causes.end()) continue;
    device.causes.push_back(words->text);
    warn(fmt::format(" is {}{}; {}", words->text, reading_text(report), words->remedy));
  }
}

bool has_more_towers(const std::vector<DeviceLabel>& labels, size_t device) {
  return labels[device].towers > least_towers(labels);
}

std::string straggler_cause(const std::vector<DeviceLabel>& labels, const DeviceHistory& of,
                            size_t device) {
  std::string clock = clock_text(of.devices()[device]);
  if (const ThrottleWords* words = lasting_throttle(of, device))
    return fmt::format("{}{}; {}", words->text, clock, words->remedy);
  if (has_more_towers(labels, device)) {
    return fmt::format("it computes {}, others {}; towers that the devices divide evenly end that",
                       counted(labels[device].towers, "tower"), least_towers(labels));
  }
  return fmt::format("it runs{}; look for other work on it, or for weaker hardware",
                     clock.empty() ? " slower" : clock);
}

std::string straggler_text(const std::vector<DeviceLabel>& labels, const DeviceHistory& of,
                           const Straggler& straggler) {
  return fmt::format("{} arrives last in {:.0f} % of steps, {:.0f} % after the median: {}",
                     labels[straggler.device].name, 100 * straggler.share, 100 * straggler.lag,
                     straggler_cause(labels, of, straggler.device));
}

StragglerWatch::StragglerWatch(std::vector<DeviceLabel> labels)
    : labels_(std::move(labels)), window_(labels_.size()) {}

std::string StragglerWatch::add(const StepReport& step) {
  window_.add(step);
  if (window_.steps() < window_steps || window_.seconds() < window_seconds) return "";
  std::string warning = judge();
  window_.clear();
  return warning;
}

std::string StragglerWatch::judge() {
  auto found = window_.straggler();
  // What is slow by its share of the towers was known before the first step.
  bool late = found && found->share >= straggler_share && !has_more_towers(labels_, found->device);
  double lag = late ? found->lag : 0;
  if (lag < straggler_lag || found->device != suspect_) windows_ = 0;
  if (lag < 2 * straggler_lag) {  // too little to begin with, but not the end of a slow device
    if (windows_ < windows_in_row) windows_ = 0;
    return "";
  }
  suspect_ = found->device;
  windows_ = std::min(windows_ + 1, windows_in_row);
  if (windows_ < windows_in_row) return "";
  const ThrottleWords* words = lasting_throttle(window_, suspect_);
  std::string cause(words ? words->reason : "");
  if (!warned_.insert({suspect_, cause}).second) return "";
  return straggler_text(labels_, window_, *found);
}

}  // namespace spire

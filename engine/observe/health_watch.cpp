#include "engine/observe/health_watch.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/text.h"
#include "engine/observe/device_history.h"

namespace spire {
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

}  // namespace spire

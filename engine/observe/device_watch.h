// Warns during a run of devices that fail, are too hot, or are clearly and lastingly slower than
// the others.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/observer.h>

#include "engine/observe/device_history.h"

namespace spire {

// How sentences say why a GPU's clock is low, and what to do about it.

// What lowers a clock though it should not: "heat" -> how a sentence says it, and what to do.
struct ThrottleWords {
  std::string_view reason;  // in DeviceReport::throttle_reasons
  std::string_view text;    // "throttled by heat"
  std::string_view remedy;
};
const ThrottleWords* throttle_words(std::string_view reason);  // null: nothing to mention

// Warns of a device: once for each error code of the driver (XID); at each new memory error that
// ECC could not correct; once when ECC has corrected an error; once for each cause that lowers its
// clock, except the power limit, which is normal. Memory errors before the first reading do not
// count.
class HealthWatch {
 public:
  // names: of the run's devices, for messages; "": the device is on a GPU that an earlier name
  // covers.
  explicit HealthWatch(const std::vector<std::string>& names);

  // reports: StepReport::devices. Returns the new warnings; allocates only for these.
  std::vector<std::string> add(std::span<const DeviceReport> reports);

 private:
  struct Device {
    std::string name;
    std::set<int> xids = {};
    std::optional<uint64_t> uncorrected = {}, corrected = {};  // at the last reading; at the first
    bool told_corrected = false;
    std::vector<std::string_view> causes = {};  // ThrottleWords::text
  };
  static void look(Device& device, const DeviceReport& report, std::vector<std::string>& warnings);

  std::vector<Device> devices_;
};

// A device is a straggler if it arrives last in at least 75 % of the steps and, in these, at least
// 5 % after the median. docs/metrics.md names these numbers.
inline constexpr double straggler_share = 0.75, straggler_lag = 0.05;

// Judges the steps in windows. A device becomes slow when it was a straggler with twice
// straggler_lag in three windows in a row, and is slow until a window in which it is no straggler.
// Warns of a slow device once for each cause. Devices with more towers than others are not judged.
class StragglerWatch {
 public:
  static constexpr int64_t window_steps = 50;   // a window has at least so many steps,
  static constexpr double window_seconds = 20;  // and lasts at least so long
  static constexpr int windows_in_row = 3;

  explicit StragglerWatch(std::vector<DeviceLabel> labels);

  std::string add(const StepReport& step);  // returns a warning, or ""

 private:
  std::string judge();  // the window is complete

  const std::vector<DeviceLabel> labels_;
  DeviceHistory window_;
  size_t suspect_ = 0;
  int windows_ = 0;  // in a row that speak against the suspect; it is slow from windows_in_row on
  std::set<std::pair<size_t, std::string>> warned_;  // device and cause
};

// Says why a straggler is late, with its clock if that is known, and what to do about it. of: the
// history of the steps that were judged.
std::string straggler_cause(const std::vector<DeviceLabel>& labels, const DeviceHistory& of,
                            size_t device);
// Returns "cuda:2 arrives last in 91 % of steps, 14 % after the median: <cause>".
std::string straggler_text(const std::vector<DeviceLabel>& labels, const DeviceHistory& of,
                           const Straggler& straggler);
// Returns whether another device has fewer towers, which explains why this one is late.
bool has_more_towers(const std::vector<DeviceLabel>& labels, size_t device);

}  // namespace spire

// Sums up what a run's devices did, and the state they were in, over all steps or some of them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <spire/observer.h>

namespace spire {

// A device as messages name it, and its share of the work.
struct DeviceLabel {
  std::string name;    // "cuda:1"; with several processes "rank 0 cuda:1"
  int64_t towers = 0;  // see StartInfo
  int rank = 0;        // of its process
};

// A quantity that is known for a part of the time: its mean over that part.
struct TimedMean {
  double sum = 0, seconds = 0;  // sum of value * seconds, and the time in which it was known

  void add(double value, double duration) {
    sum += value * duration;
    seconds += duration;
  }
  double mean() const { return seconds > 0 ? sum / seconds : 0; }
};

struct DeviceTotals {
  int64_t last = 0;      // steps in which the device arrived last
  double late_ms = 0;    // sum over these steps: its arrival minus the median
  double median_ms = 0;  // sum over these steps: the median arrival
  // Sum over all steps: from when it was ready to when the last device was. A device is ready at
  // data_ms + arrival_ms after the end of the step before, so a wait for data delays it.
  double waiting_ms = 0;
  double data_late_ms = 0;  // sum over steps in which it was ready last: what waits for data cost
  double lane_wait_ms = 0;  // sum over all steps: DeviceReport::lane_wait_ms
  TimedMean busy, clock_mhz, others_cores;
  int max_clock_mhz = 0;                                  // 0: unknown
  std::vector<std::pair<std::string, double>> throttled;  // reason -> seconds
};

// The device that arrived last in most steps.
struct Straggler {
  size_t device = 0;  // index in StartInfo::devices
  double share = 0;   // of all steps, in which it was last
  double lag = 0;     // how much later than the median it came in these, as a share of the median
};

class DeviceHistory {
 public:
  explicit DeviceHistory(size_t devices);

  // Adds a step, unless it has no devices. For an even number of devices the median is the lower of
  // the two middle arrivals. If the last arrival equals the median, no device counts as last.
  // Allocates only for new throttle reasons.
  void add(const StepReport& step);
  void clear();

  int64_t steps() const { return steps_; }
  double seconds() const { return seconds_; }
  // Means over the steps of the first, the median and the last arrival.
  double first_ms() const { return mean(first_); }
  double median_ms() const { return mean(median_); }
  double last_ms() const { return mean(last_); }
  const std::vector<DeviceTotals>& devices() const { return devices_; }

  std::optional<Straggler> straggler() const;  // none if no device was ever last
  // Returns the reason that lowered the device's clock for the longest time, and this time in
  // seconds. Only reasons with throttle_words() count; nullopt: there is none.
  std::optional<std::pair<std::string, double>> throttled(size_t device) const;

 private:
  double mean(double sum) const { return steps_ > 0 ? sum / static_cast<double>(steps_) : 0; }
  void add_arrivals(std::span<const DeviceReport> reports);
  void add_waits(std::span<const DeviceReport> reports, double last_arrival);

  std::vector<DeviceTotals> devices_;
  std::vector<double> order_;  // the arrivals of a step, sorted
  int64_t steps_ = 0;
  double seconds_ = 0, first_ = 0, median_ = 0, last_ = 0;
};

}  // namespace spire

// Numbers of one device in a step, as processes send them to each other: fp64, and NaN where the
// device or its driver does not tell a value.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <spire/observer.h>

#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

// In the units of DeviceReport's members. throttle_reasons is a sum of bits, 1 << ThrottleReason.
// The first three are measured in each step, the others are the newest readings of a monitor.
enum class DeviceNumber : uint8_t {
  arrival_ms,
  data_ms,
  lane_wait_ms,
  busy,
  memory_used,
  memory_total,
  celsius,
  watts,
  limit_watts,
  clock_mhz,
  max_clock_mhz,
  throttle_reasons,
  ecc_errors,
  ecc_corrected,
  link_sent,
  link_received,
  last_xid,
  others_cores,
};
inline constexpr size_t device_numbers = static_cast<size_t>(DeviceNumber::others_cores) + 1;
inline constexpr size_t step_numbers = 3;  // how many are measured in each step
inline constexpr double unknown_number = std::numeric_limits<double>::quiet_NaN();

using DeviceNumbers = std::array<double, device_numbers>;
inline constexpr DeviceNumbers unknown_numbers = [] {
  DeviceNumbers numbers{};
  for (double& number : numbers) number = unknown_number;
  return numbers;
}();

inline double& number_of(DeviceNumber which, std::span<double> numbers) {
  return numbers[static_cast<size_t>(which)];
}
double throttle_number(std::span<const ThrottleReason> reasons);

// The numbers of the step stay unknown. mig: index of the MIG device in use, in
// HostGpu::mig_devices.
DeviceNumbers numbers_of(const GpuState& state, std::optional<size_t> mig);

// Makes the reports of a run's devices from their numbers.
class DeviceReports {
 public:
  explicit DeviceReports(size_t devices);

  // numbers: device_numbers for each device. The result is valid until the next call. Allocates
  // only when a device's throttle reasons change.
  std::span<const DeviceReport> read(std::span<const double> numbers);

 private:
  std::vector<DeviceReport> reports_;
  std::vector<uint64_t> throttle_;  // the reasons in each report, as bits
};

}  // namespace spire

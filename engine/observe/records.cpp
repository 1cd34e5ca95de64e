#include "engine/observe/records.h"

#include <algorithm>

#include <fmt/format.h>

namespace spire {

std::string DeviceNames::next(int rank, const std::string& device) {
  int count = ++counts_[{rank, device}];
  return count == 1 ? device : fmt::format("{}#{}", device, count);
}

std::vector<std::string> unique_device_names(const StartInfo& start) {
  DeviceNames names;
  std::vector<std::string> all;
  for (const DeviceInfo& device : start.devices)
    all.push_back(names.next(device.rank, device.name));
  return all;
}

double total_of(const StepTimes& times) {
  double total = 0;
  for (const StepPart& part : step_parts) total += times.*part.seconds;
  return total;
}

StepTimes& operator+=(StepTimes& sum, const StepTimes& times) {
  for (const StepPart& part : step_parts) sum.*part.seconds += times.*part.seconds;
  return sum;
}

StepTimes operator*(StepTimes times, double factor) {
  for (const StepPart& part : step_parts) times.*part.seconds *= factor;
  return times;
}

StepTimes complete_times(const StepTimes& lanes, double waited, double seconds) {
  double measured = total_of(lanes);
  StepTimes times = measured > seconds ? lanes * (seconds / measured) : lanes;
  times.data = std::clamp(seconds - measured, 0.0, std::max(waited, 0.0));
  times.other = std::max(0.0, seconds - total_of(times));
  return times;
}

}  // namespace spire

#include "engine/observe/records.h"

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

}  // namespace spire

// Numbers of a device by the names that metrics.jsonl gives them, and names of devices.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/observer.h>

namespace spire::inline publish {

struct DeviceValue {
  std::string_view name;  // behind "device/"
  std::optional<double> (*of)(const DeviceReport&);
};

extern const std::array<DeviceValue, 7> device_values;

// Returns a name for each device that no other device of its process has: "cuda:0", and "cuda:0#2"
// for the second logical device of that GPU.
std::vector<std::string> unique_device_names(const StartInfo& start);

}  // namespace spire::inline publish

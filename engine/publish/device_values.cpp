#include "engine/publish/device_values.h"

#include <map>
#include <utility>

#include <fmt/format.h>

namespace spire::inline publish {
namespace {

std::optional<double> number(const auto& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

const std::array<DeviceValue, 7> device_values = {{
    {"arrival_ms", [](const DeviceReport& d) { return std::optional(d.arrival_ms); }},
    {"busy", [](const DeviceReport& d) { return d.busy; }},
    {"memory_used_bytes", [](const DeviceReport& d) { return number(d.memory_used); }},
    {"memory_total_bytes", [](const DeviceReport& d) { return number(d.memory_total); }},
    {"celsius", [](const DeviceReport& d) { return d.celsius; }},
    {"watts", [](const DeviceReport& d) { return d.watts; }},
    {"clock_mhz", [](const DeviceReport& d) { return number(d.clock_mhz); }},
}};

std::vector<std::string> unique_device_names(const StartInfo& start) {
  std::map<std::pair<int, std::string>, int> counts;
  std::vector<std::string> names;
  for (const DeviceInfo& device : start.devices) {
    int count = ++counts[{device.rank, device.name}];
    names.push_back(count == 1 ? device.name : fmt::format("{}#{}", device.name, count));
  }
  return names;
}

}  // namespace spire::inline publish

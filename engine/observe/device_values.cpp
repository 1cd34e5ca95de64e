#include "engine/observe/device_values.h"

namespace spire {
namespace {

std::optional<double> known_number(const auto& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

const std::array<DeviceValue, 7> device_values = {{
    {"arrival_ms", [](const DeviceReport& d) { return std::optional(d.arrival_ms); }},
    {"busy", [](const DeviceReport& d) { return d.busy; }},
    {"memory_used_bytes", [](const DeviceReport& d) { return known_number(d.memory_used); }},
    {"memory_total_bytes", [](const DeviceReport& d) { return known_number(d.memory_total); }},
    {"celsius", [](const DeviceReport& d) { return d.celsius; }},
    {"watts", [](const DeviceReport& d) { return d.watts; }},
    {"clock_mhz", [](const DeviceReport& d) { return known_number(d.clock_mhz); }},
}};

}  // namespace spire

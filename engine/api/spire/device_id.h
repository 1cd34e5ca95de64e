// Name of a device, on which towers (the shares of a global batch) run. "cpu:1" is the second
// of equal shares of the process's cores; "cuda:0" is a GPU.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <spire/export.h>

namespace spire {

enum class DeviceKind : uint8_t { cpu, cuda };

struct DeviceId {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const DeviceId&) const = default;
};

SPIRE_API std::string to_string(DeviceId device);        // returns "cpu:0"
SPIRE_API DeviceId parse_device(std::string_view text);  // throws Error(config)

}  // namespace spire

// Numbers of a device by the names that metrics.jsonl gives them.
#pragma once
#include <array>
#include <optional>
#include <string_view>

#include <spire/observer.h>

#include "engine/observe/device_names.h"

namespace spire {

struct DeviceValue {
  std::string_view name;  // behind "device/"
  std::optional<double> (*of)(const DeviceReport&);
};

extern const std::array<DeviceValue, 7> device_values;

}  // namespace spire

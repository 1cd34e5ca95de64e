// Devices of a config's list with memory limits of their own (devices.h).
#pragma once
#include <string>
#include <vector>

#include "engine/config/devices.h"

namespace spire {

// Returns the words without their limits.
std::vector<std::string> without_limits(std::vector<std::string> words);

}  // namespace spire

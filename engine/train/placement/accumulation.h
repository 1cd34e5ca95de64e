// Says where towers are gradient accumulation: where a device runs several one after another.
#pragma once
#include <string>

#include "engine/train/placement/placement.h"

namespace spire {

// "4 towers on 2 devices: each device runs 2 towers one after another, which is gradient
// accumulation over 2"; empty where all towers run at once.
std::string accumulation_text(const Placement& placement);

}  // namespace spire

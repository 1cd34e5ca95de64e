// Compares the weights of all replicas of a run: a device whose memory or transfers are faulty has
// other bits than the rest.
#pragma once
#include <cstdint>
#include <vector>

#include "engine/graph/parameter_layout.h"
#include "engine/train/device_set.h"

namespace spire::inline training {

// Hashes every replica of every rank; all ranks call it. Throws SymmetricError(collective) naming
// the first tensor that differs, and the device that has other bits than most. Throws PeerLost.
void check_replicas(DeviceSet& devices, const ParameterLayout& layout);

}  // namespace spire::inline training

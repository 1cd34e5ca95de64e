// Memory limits of a run's logical devices: their own (devices: [{cuda:0: 8GiB}]), and
// memory.limit.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/config/scalar.h"
#include "engine/device/memory_pool.h"
#include "engine/train/placement/placement.h"

namespace spire {

// Sets PlacedDevice::memory_limit of each rank's devices as config.devices has it. If several words
// name one GPU, its logical devices get the limits of these words in order.
void place_limits(const RunConfig& config, const std::vector<RankHardware>& ranks,
                  Placement& placement);

// Returns the limits of a process's devices. Those without their own have equal parts of what the
// others on the same memory leave of memory.limit. total: bytes of each device's memory. Sets all
// but `explain`. Throws Error(config) if they leave nothing.
std::vector<MemoryPoolOptions> limits_of(std::span<const PlacedDevice> devices,
                                         const std::vector<size_t>& total,
                                         const MemoryLimit& memory_limit);

}  // namespace spire

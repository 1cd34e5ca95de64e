// Memory of a run's logical devices: its limits, which config.devices ([{cuda:0: 8GiB}]) and
// memory.limit set, and the error message for a device that has too little memory.
#pragma once
#include <cstddef>
#include <span>
#include <string>
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

// Returns the limits of a process's devices. Devices without one of their own share equally what
// the limits of others in the same memory leave of memory.limit. total: bytes of each device's
// memory. Sets all options but `explain`. Throws Error(config) if nothing is left.
std::vector<MemoryPoolOptions> limits_of(std::span<const PlacedDevice> devices,
                                         const std::vector<size_t>& total,
                                         const MemoryLimit& memory_limit);

// Error message for a device with too little memory: the shortage, one remedy, and a table.

// Facts of the run that decide which remedy is named.
struct MemoryRemedies {
  int64_t batch_size = 1;         // samples per tower
  int devices = 1;                // devices of the run
  bool sharded = false;           // strategy: sharded
  bool can_skip_snapshot = true;  // checkpoints can be written without a copy of the state
  bool can_recompute = false;     // memory.recompute: blocks is not set, and the model has blocks
};

// Returns the change of the config that the numbers suggest: "set memory.recompute: blocks, ...".
std::string remedy(const MemoryShortage& shortage, const MemoryRemedies& remedies);

// Returns a line with shortage and remedy, then a table: kind of memory, planned, in use.
std::string out_of_memory_text(const MemoryShortage& shortage, const MemoryRemedies& remedies);

}  // namespace spire

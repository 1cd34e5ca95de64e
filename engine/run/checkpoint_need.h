// What the checkpoints of a run take on its disk.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

#include "engine/run/machine/disk_space.h"

namespace spire {

// floats: all numbers that the weights have. frozen: how many of these are frozen, and so have no
// slots and no average. steps: of the whole run. Weights, slots of the optimizer and averages
// count; so do the newest checkpoints, the best one and those that keep_every_steps keeps, less
// what the output folder already has of them. Throws Error(checkpoint) if that folder cannot be
// listed.
CheckpointNeed checkpoint_need(const RunConfig& config, int64_t floats, int64_t frozen,
                               int64_t steps);

}  // namespace spire

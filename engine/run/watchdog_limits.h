// How long the watchdog of a run lets its ranks wait, from the config's timeouts.
#pragma once
#include <limits>

#include <spire/run_config.h>
#include <spire/world.h>

#include "engine/process/watchdog/watchdog.h"

namespace spire {

// A run of one process has no other rank to wait for, and may read data for hours, so its start has
// no limit but for GPUs (Phase::setup), which may hang. Others may also wait for idle GPUs.
inline WatchdogLimits watchdog_limits(const RunConfig& config, const World& world) {
  bool alone = world.size() == 1;
  double start = config.timeouts.start + config.timeouts.devices;
  return {alone ? std::numeric_limits<double>::infinity() : start, config.timeouts.step,
          config.timeouts.checkpoint, config.timeouts.silence};
}

}  // namespace spire

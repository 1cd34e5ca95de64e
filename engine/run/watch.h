// What the watchdog of a run sees of this process, and how long it lets it wait.
#pragma once
#include <limits>

#include <spire/run_config.h>
#include <spire/world.h>

#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/run_setup.h"

namespace spire {

// A run of one process has no other rank to wait for, and may read data for hours, so its start has
// no limit but for GPUs (Phase::setup), which may hang. Others may also wait for idle GPUs.
inline WatchdogLimits watchdog_limits(const RunConfig& config, const World& world) {
  bool alone = world.size() == 1;
  double start = config.timeouts.start + config.timeouts.devices;
  return {alone ? std::numeric_limits<double>::infinity() : start, config.timeouts.step,
          config.timeouts.checkpoint, config.timeouts.silence};
}

// Shows the watchdog the phases of a trainer's lanes while it lives: they must live that long.
class Watch {
 public:
  Watch(World& world, const ThreadStatus& status, const RunConfig& config)
      : world_(world), limits_(watchdog_limits(config, world)) {
    world_.watchdog->watch(&status, limits_);
  }
  ~Watch() { world_.watchdog->watch(nullptr, limits_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  World& world_;
  WatchdogLimits limits_;
};

// Shows the watchdog the phase of the calling thread, until a trainer's lanes take over.
class StartWatch {
 public:
  StartWatch(World& world, const RunConfig& config, const PhaseHook& on_phase = {})
      : world_(world), limits_(watchdog_limits(config, world)) {
    status_.set_hook(on_phase);
    world_.watchdog->watch(&status_, limits_);
  }
  ~StartWatch() { world_.watchdog->watch(nullptr, limits_); }
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  // For a process alone, whose GPUs may hang while its trainer is made. setup: outlives this.
  void watch_gpus(RunSetup& setup) {
    if (world_.size() > 1 || setup.placement.lanes[0].device.kind != DeviceKind::cuda) return;
    setup.watch_lanes = [this](const ThreadStatus* lanes) {
      if (!lanes) status_.enter(0, Phase::start);
      world_.watchdog->watch(lanes ? lanes : &status_, limits_);
    };
    status_.enter(0, Phase::setup);
  }

  ThreadStatus& status() { return status_; }

 private:
  World& world_;
  WatchdogLimits limits_;
  ThreadStatus status_{{"main"}};
};

}  // namespace spire

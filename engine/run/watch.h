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
inline TimeoutConfig watchdog_limits(const RunConfig& config, const World& world) {
  TimeoutConfig limits = config.timeouts;
  limits.start += limits.devices;
  if (world.size() == 1) limits.start = std::numeric_limits<double>::infinity();
  return limits;
}

// Shows the watchdog the phases of a thread or of a trainer's lanes while it lives: they must live
// that long. The limits stay: a rank that is done still watches the others.
class Watch {
 public:
  Watch(World& world, const ThreadStatus& status, const RunConfig& config)
      : world_(world), limits_(watchdog_limits(config, world)) {
    show(&status);
  }
  ~Watch() { show(nullptr); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  void show(const ThreadStatus* status) { world_.watchdog->watch(status, limits_); }

 private:
  World& world_;
  TimeoutConfig limits_;
};

// Shows the watchdog the phase of the calling thread, until a trainer's lanes take over.
class StartWatch {
 public:
  StartWatch(World& world, const RunConfig& config, const PhaseHook& on_phase = {})
      : alone_(world.size() == 1), watch_(world, status_, config) {
    status_.set_hook(on_phase);
  }

  // For a process alone, whose GPUs may hang while its trainer is made. setup: outlives this.
  void watch_gpus(RunSetup& setup) {
    if (!alone_ || setup.placement.lanes[0].device.kind != DeviceKind::cuda) return;
    setup.watch_lanes = [this](const ThreadStatus* lanes) {
      if (!lanes) status_.enter(0, Phase::start);
      watch_.show(lanes ? lanes : &status_);
    };
    status_.enter(0, Phase::setup);
  }

  ThreadStatus& status() { return status_; }

 private:
  bool alone_;
  ThreadStatus status_{{"main"}};
  Watch watch_;  // the last member: it shows the status
};

}  // namespace spire

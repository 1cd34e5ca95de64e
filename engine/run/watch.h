// Shows the watchdog of a run the phases of this process, and sets its limits.
#pragma once
#include <limits>

#include <spire/run_config.h>
#include <spire/world.h>

#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"
#include "engine/run/run_setup.h"

namespace spire {

// Returns the watchdog's limits. The start of a run of one process has no limit: no rank waits for
// it, and it may read data for hours (only Phase::setup, in which GPUs may hang, has the limit of
// steps). With several processes the limit of the start includes a wait for idle GPUs.
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

  // In a run of one process on GPUs, watches also the lanes while the trainer is made, as GPUs may
  // hang. Sets setup.watch_lanes, which the trainer must not call after this has ended.
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

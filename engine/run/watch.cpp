#include "engine/run/watch.h"

namespace spire {

StartWatch::StartWatch(World& world, const RunConfig& config, const PhaseHook& on_phase)
    : world_(world), limits_(watchdog_limits(config, world)) {
  status_.set_hook(on_phase);
  world_.watchdog->watch(&status_, limits_);
}

void StartWatch::watch_gpus(RunSetup& setup) {
  if (world_.size() > 1 || setup.placement.lanes[0].device.kind != DeviceKind::cuda) return;
  setup.watch_lanes = [this](const ThreadStatus* lanes) {
    if (!lanes) status_.enter(0, Phase::start);
    world_.watchdog->watch(lanes ? lanes : &status_, limits_);
  };
  status_.enter(0, Phase::setup);
}

}  // namespace spire

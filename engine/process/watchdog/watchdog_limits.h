// How long threads and ranks may make no progress: the config's `timeouts`.
#pragma once
#include <string_view>

#include <spire/world.h>

namespace spire {

struct WatchdogLimits {
  double start_seconds = 300;        // without progress in phase start
  double step_seconds = 600;         // in other phases, except checkpoint, idle and waiting
  double checkpoint_seconds = 1800;  // in phase checkpoint
  double silence_seconds = 60;       // without a message from a rank; its phase's limit, if shorter
};

struct PhaseLimit {
  double seconds = 0;     // infinite for idle and waiting
  std::string_view name;  // its key in the config: "timeouts.step"
};
PhaseLimit limit_of(Phase phase, const WatchdogLimits& limits);
double heartbeat_period(const WatchdogLimits& limits);  // seconds, in [0.02, 1]

}  // namespace spire

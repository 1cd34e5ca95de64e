#include "engine/process/watchdog/watchdog_limits.h"

#include <algorithm>
#include <limits>

namespace spire {

constexpr double min_period = 0.02, max_period = 1;

// A thread that waits is never the cause, so it has no limit: the one it waits for has.
PhaseLimit limit_of(Phase phase, const WatchdogLimits& limits) {
  switch (phase) {
    case Phase::idle:
    case Phase::waiting:
      return {std::numeric_limits<double>::infinity(), ""};
    case Phase::start:
      return {limits.start_seconds, "timeouts.start"};
    case Phase::checkpoint:
      return {limits.checkpoint_seconds, "timeouts.checkpoint"};
    default:
      return {limits.step_seconds, "timeouts.step"};
  }
}

// A fifth of the smallest limit, so that a stall is noticed soon after its limit.
double heartbeat_period(const WatchdogLimits& limits) {
  double smallest =
      std::min({limits.start_seconds, limits.step_seconds, limits.checkpoint_seconds});
  return std::clamp(smallest / 5, min_period, max_period);
}

}  // namespace spire

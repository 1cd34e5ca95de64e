#include "engine/run/early_stop.h"

#include <cmath>

namespace spire::inline run {

void EarlyStop::add(bool improved, double metric) {
  // "not below" and not "above": any number is an improvement on NaN.
  bool far = !(std::abs(metric - state_.reference) < config_.min_delta);
  if (state_.waited < 0 || (improved && far)) {
    state_ = {0, metric};
  } else {
    ++state_.waited;
  }
}

}  // namespace spire::inline run

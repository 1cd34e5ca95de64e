// Which of two evaluations is the better one, as the config's best.mode has it.
#pragma once
#include <cmath>

#include <spire/metric.h>
#include <spire/run_config.h>

namespace spire {

// Whether the metric that decides is better when it is higher.
inline bool best_is_higher(const BestConfig& best, Metric metric) {
  using Mode = BestConfig::Mode;
  return best.mode == Mode::automatic ? higher_is_better(metric) : best.mode == Mode::max;
}

// NaN is never better; any number is better than NaN.
inline bool better_by(bool higher, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return higher ? value > than : value < than;
}

}  // namespace spire

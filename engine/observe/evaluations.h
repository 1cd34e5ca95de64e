// What an evaluation measured, whichever struct reports it, and which of two is the better one.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include <spire/metric.h>
#include <spire/run_config.h>

namespace spire {

// Evaluation: has a loss, the task's metric, and others. None where it did not measure `wanted`.
template <typename Evaluation>
std::optional<double> measured_value(const Evaluation& evaluation, Metric wanted) {
  if (wanted == evaluation.metric.metric) return evaluation.metric.value;
  if (wanted == Metric::loss) return evaluation.loss;
  auto found = std::ranges::find(evaluation.others, wanted, &MetricValue::metric);
  if (found == evaluation.others.end()) return {};
  return found->value;
}

// Which data: "validation" or "test".
inline const char* name_of_data(bool held_out) {
  return held_out ? "validation" : "test";
}

// Whether the metric that decides is better when it is higher, as the config's best.mode has it.
inline bool best_is_higher(const BestConfig& best, Metric metric) {
  using Mode = BestConfig::Mode;
  return best.mode == Mode::automatic ? higher_is_better(metric) : best.mode == Mode::max;
}

// NaN is never better; any number is better than NaN.
inline bool is_better(bool higher, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return higher ? value > than : value < than;
}

}  // namespace spire

// Reads a metric from any struct that reports an evaluation, and tells which of two is better.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include <spire/metric.h>
#include <spire/run_config.h>

namespace spire {

// Evaluation: a struct with `loss`, `metric` (the task's) and `others`, such as EvalReport. Returns
// nullopt if it has no value of `wanted`.
template <typename Evaluation>
std::optional<double> measured_value(const Evaluation& evaluation, Metric wanted) {
  if (wanted == evaluation.metric.metric) return evaluation.metric.value;
  if (wanted == Metric::loss) return evaluation.loss;
  auto found = std::ranges::find(evaluation.others, wanted, &MetricValue::metric);
  if (found == evaluation.others.end()) return {};
  return found->value;
}

// Names the data that was evaluated. held_out: as in ValidationSummary.
inline const char* name_of_data(bool held_out) {
  return held_out ? "validation" : "test";
}

// Returns whether higher values of `metric`, which decides, are better: by best.mode; if that is
// auto, by the metric.
inline bool best_is_higher(const BestConfig& best, Metric metric) {
  using Mode = BestConfig::Mode;
  return best.mode == Mode::automatic ? higher_is_better(metric) : best.mode == Mode::max;
}

// higher: whether higher values are better. NaN is never better; any number is better than NaN.
inline bool is_better(bool higher, double value, double than) {
  if (std::isnan(value) || std::isnan(than)) return !std::isnan(value);
  return higher ? value > than : value < than;
}

}  // namespace spire

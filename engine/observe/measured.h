// What an evaluation measured, whichever struct reports it.
#pragma once
#include <algorithm>
#include <optional>

#include <spire/metric.h>

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

}  // namespace spire

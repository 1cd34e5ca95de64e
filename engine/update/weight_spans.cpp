#include "engine/update/weight_spans.h"

#include <algorithm>

namespace spire::inline update {

bool is_matrix(const Shape& shape) {
  int wide = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) wide += shape[axis] > 1 ? 1 : 0;
  return wide >= 2;
}

std::vector<WeightSpan> weight_spans(const OptimizerConfig& config, bool layerwise,
                                     const ParameterLayout& layout) {
  std::vector<WeightSpan> spans;
  for (const ParameterEntry& entry : layout.entries()) {
    if (!entry.trained) continue;
    bool matrix = is_matrix(entry.shape), adapts = layerwise && matrix;
    float decay = config.decay == OptimizerConfig::Decay::all || matrix ? 1.0f : 0.0f;
    if (!spans.empty()) spans.back().range.end = entry.offset;
    bool joins = !spans.empty() && !adapts && !spans.back().adapts && spans.back().decay == decay;
    if (!joins) spans.push_back({{entry.offset, 0}, decay, adapts});
  }
  if (!spans.empty()) spans.back().range.end = layout.trained_floats();
  return spans;
}

}  // namespace spire::inline update

// Which stretches of the flat weights the optimizer treats alike.
#pragma once
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/buckets.h"
#include "engine/graph/parameter_layout.h"

namespace spire::inline update {

struct WeightSpan {
  FloatRange range;     // whole parameters, the padding behind each included
  float decay = 1.0f;   // factor of optimizer.weight_decay
  bool adapts = false;  // a single tensor with a trust ratio
};

// Two axes or more have several entries: weights of convolutions, dense layers, embeddings. Not
// biases, and not gamma and beta of norms.
bool is_matrix(const Shape& shape);

// Spans that partition [0, trained_floats()), in order, as few as there can be. layerwise: each
// matrix is a span that adapts.
std::vector<WeightSpan> weight_spans(const OptimizerConfig& config, bool layerwise,
                                     const ParameterLayout& layout);

}  // namespace spire::inline update

// Builds a run's model as graphs for training and evaluation, and lays out its parameters.
#pragma once
#include <functional>

#include "engine/graph/parameter_layout.h"
#include "models/model.h"

namespace spire::inline training {

// Builds the graph of one tower for `batch` samples, in training or evaluation form. Inputs are the
// batch's columns, in order; the outputs "loss" and "score" are fp64 sums, "output" is the model's
// result.
using GraphBuilder = std::function<Graph(int64_t batch, bool training)>;

// Type of activations: config.precision.
DType compute_dtype(const RunConfig& config);

// Lays out the parameters in the order in which backward completes their gradients. Does not depend
// on `batch`. Throws what building the training graph throws.
ParameterLayout make_layout(const GraphBuilder& build, int64_t batch);

}  // namespace spire::inline training

// A run's model as graphs: what towers train and evaluate, and the layout of its parameters.
#pragma once
#include <functional>

#include "engine/graph/parameter_layout.h"
#include "models/model.h"

namespace spire::inline training {

// Builds the graph of one tower for `batch` samples, training or evaluation form. Its inputs are
// the batch's columns, in their order; its outputs "loss" and "score" are fp64 sums, "output" is
// what the model makes.
using GraphBuilder = std::function<Graph(int64_t batch, bool training)>;

// Of activations: config.precision as a type.
DType compute_dtype(const RunConfig& config);

// The same whatever the batch. Throws what building the training graph throws.
ParameterLayout make_layout(const GraphBuilder& build, int64_t batch);

}  // namespace spire::inline training

// Builds a run's model as graphs, runs the passes on them, and lays out its parameters.
#pragma once
#include <functional>
#include <vector>

#include "engine/device/device.h"
#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "models/model.h"

namespace spire::inline training {

// Builds the graph of one tower for `batch` samples. Inputs are the batch's columns, in order; the
// outputs "loss" and "score" are fp64 sums, "output" is the model's result.
using GraphBuilder = std::function<Graph(int64_t batch, bool training)>;

DType compute_dtype(const RunConfig& config);  // of activations, by config.precision

// Lays out the parameters in the order in which backward completes their gradients. Does not depend
// on `batch`. Throws what building the training graph throws.
ParameterLayout make_layout(const GraphBuilder& build, int64_t batch);

struct LoweredGraph {  // after all passes, for a Plan
  Graph graph;
  std::vector<ParameterGradient> gradients;  // in training form
  int repeated_nodes = 0;                    // nodes that run twice
  size_t bytes_without_recompute = 0;        // of the arena; 0: not asked for
};

// The passes of evaluation form; training adds the backward graph, recompute repeats blocks in it.
LoweredGraph lower_for_evaluation(Graph graph, DeviceId device);
LoweredGraph lower_for_training(Graph graph, DeviceId device, const ParameterLayout& layout,
                                bool recompute);

}  // namespace spire::inline training

// Builds the graphs of a run's model, runs the graph passes, and lays out the parameters.
#pragma once
#include <functional>
#include <vector>

#include "engine/device/device.h"
#include "engine/graph/graph.h"
#include "engine/graph/parameter_layout.h"
#include "models/model.h"

namespace spire {

// Builds the graph of one tower (a share of the global batch) for `batch` samples. Its inputs are
// the batch's columns; its outputs "loss" and "score" (fp64 sums) and "output", the model's result.
using GraphBuilder = std::function<Graph(int64_t batch, bool training)>;

DType compute_dtype(const RunConfig& config);  // dtype of activations: config.precision
bool recomputes(const RunConfig& config);      // whether backward computes activations again

// Lays out the parameters in the order in which backward completes their gradients; the layout does
// not depend on `batch`. Throws what `build` throws.
ParameterLayout make_layout(const GraphBuilder& build, int64_t batch);

struct LoweredGraph {  // a graph after all passes, from which a Plan is made
  Graph graph;
  std::vector<ParameterGradient> gradients;  // empty in evaluation
  int repeated_nodes = 0;                    // nodes that recompute runs twice
  // Size of the arena without recompute, gradient buffer included; 0 if `recompute` was false.
  size_t bytes_without_recompute = 0;
};

// Run all passes. lower_for_training() also appends backward; recompute: backward computes the
// activations of blocks again.
LoweredGraph lower_for_evaluation(Graph graph, DeviceId device);
LoweredGraph lower_for_training(Graph graph, DeviceId device, const ParameterLayout& layout,
                                bool recompute);

}  // namespace spire

// Reverse-mode differentiation: appends to a graph the ops of the gradient of its losses.
#pragma once
#include <utility>
#include <vector>

#include "engine/graph/graph.h"

namespace spire::inline graph {

struct ParameterGradient {
  Value parameter, gradient;
};

// Walks the graph backward from its losses; each op says its gradient as ops. Where a tensor is
// used more than once its gradients are added. Returns the parameters with their gradients in the
// order in which backward completes them. A parameter that no loss depends on is Error(config) by
// name.
std::vector<ParameterGradient> differentiate(Graph& graph);

}  // namespace spire::inline graph

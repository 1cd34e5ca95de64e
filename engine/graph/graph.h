// What is derived from a graph (spire/graph.h): its backward, by differentiate(), and the table of
// its layers. Passes (passes.h) rewrite a graph, Plan (plan.h) compiles it.
#pragma once
#include <string>
#include <vector>

#include <spire/graph.h>

namespace spire {

struct ParameterGradient {
  Value parameter, gradient;
};

// Appends the nodes of backward, which compute the gradients of the losses (Op::gradient). Returns
// the parameters that are not frozen, in the order in which backward completes their gradients.
// Throws Error(config) for a parameter on which no loss depends.
std::vector<ParameterGradient> differentiate(Graph& graph);

// Returns the name of a node's layer, the prefix of its first parameter or state ("conv1" of
// "conv1.weight"); empty for a node without one.
std::string layer_name(const Graph& graph, const Node& node);

// Returns shapes, parameters and costs of a graph's layers. REQUIRES: not yet differentiated.
std::vector<LayerRow> layer_table(const Graph& graph);

LayerRow total_of(const std::vector<LayerRow>& rows);  // sums; op and output stay empty

}  // namespace spire

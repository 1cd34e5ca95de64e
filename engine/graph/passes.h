// Rewrites of a graph before it is compiled. Each keeps what the graph computes.
#pragma once
#include <spire/graph/graph.h>

namespace spire {

// Puts a relu, or an addition and its relu, into the op before it where that op has such a form
// (Op::with_relu, Op::with_residual) and nothing else reads what lies between. Forward graphs only:
// run it before differentiate(). Returns how many nodes it saved.
int fuse_activations(Graph& graph);

// Removes nodes none of whose outputs reach a kept tensor: the graph's outputs, losses and state
// updates, and `also`. Returns how many.
int remove_dead_nodes(Graph& graph, std::span<const Value> also = {});

}  // namespace spire

// Rewrites of a graph before it is compiled, which never change what it computes. A pass returns
// how many nodes it has saved, removed, padded or repeated.
#pragma once
#include <span>

#include "engine/device/device.h"
#include "engine/graph/graph.h"

namespace spire::inline graph {

// Fuses a relu, or addition and relu, into the op before it. Runs before differentiate().
int fuse_activations(Graph& graph);

// Removes nodes that no output, loss or state update needs, nor `also`.
int remove_dead_nodes(Graph& graph, std::span<const Value> also = {});

// Pads rows of wide 16-bit matrices for fast products on GPUs (TensorSpec::row_pitch); shapes stay.
// Runs after remove_dead_nodes(), before recompute_blocks().
int pad_rows(Graph& graph, DeviceId device);

// Recomputes activations of blocks (Graph::Block) in backward to save memory (Chen et al.:
// "Training Deep Nets with Sublinear Memory Cost", 2016). Same bits. Runs last.
int recompute_blocks(Graph& graph);

}  // namespace spire::inline graph

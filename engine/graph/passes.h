// Passes: rewrites of a graph before it is compiled, which do not change what it computes. Each
// returns how many nodes it has saved, removed, padded or repeated.
#pragma once
#include <span>

#include "engine/device/device.h"
#include "engine/graph/graph.h"

namespace spire {

// Replaces the ops that sum by the ops of precision: exact, whose results are the same bits for any
// split of `global_batch` samples into towers and on any device (docs/numerics.md#exact-sums). Call
// it before fuse_activations() and differentiate(), on a graph without fused ops. Returns the
// number of nodes that it replaced. Throws Error(config) for an op that has no exact form.
int use_exact_ops(Graph& graph, int64_t global_batch);

// Fuses a relu, or an addition and a relu, into the op before it; moves a relu before a max_pool2d
// of the same block to the place after it. Call it before differentiate(), which then
// differentiates the fused ops.
int fuse_activations(Graph& graph);

// Removes nodes that are needed by no output, loss, state update or value in `also`.
int remove_dead_nodes(Graph& graph, std::span<const Value> also = {});

// Pads the rows of wide 16-bit matrices (TensorSpec::row_pitch) for fast matrix products on GPUs;
// shapes stay as they are. Call it after remove_dead_nodes() and before recompute_blocks().
int pad_rows(Graph& graph, DeviceId device);

// Lets backward recompute the activations of blocks (Graph::Block) to save memory (Chen et al.:
// "Training Deep Nets with Sublinear Memory Cost", 2016). Results keep their bits. Call it last.
int recompute_blocks(Graph& graph);

}  // namespace spire

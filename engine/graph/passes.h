// Rewrites of a graph before it is compiled. A pass never changes what the graph computes.
#pragma once
#include "engine/device/device.h"
#include "engine/graph/graph.h"

namespace spire::inline graph {

// Fuses a relu, or an addition and its relu, into the op before it where that op has such a form
// (Op::with_relu, Op::with_residual) and nothing else reads the tensors between. Forward graphs
// only: runs before differentiate(). Returns how many nodes it saved.
int fuse_activations(Graph& graph);

// Removes nodes whose outputs reach no kept tensor: outputs of the graph, losses, state updates,
// and `also`. Returns how many.
int remove_dead_nodes(Graph& graph, std::span<const Value> also = {});

// Pads the rows of wide 16-bit matrices to a multiple of 128 elements, so that matrix products on
// GPUs read and write them quickly. It pads matrices 1024 or more wide whose rows are no multiples
// of 16 bytes (such as logits over GPT-2's 50257 tokens), where all kernels that touch them support
// padded rows (KernelEntry::padded_rows; no CPU kernel does). Shapes stay; inputs and parameters
// are never padded. Runs after remove_dead_nodes() and before recompute_blocks(). Returns how many
// it padded.
int pad_rows(Graph& graph, DeviceId device);

// Recomputes activations in backward to save memory (Chen, Xu, Zhang, Guestrin: "Training Deep Nets
// with Sublinear Memory Cost", 2016): tensors inside a block (Graph::Block) that backward reads are
// computed a second time, just before their first reader. Stored from forward to backward are
//   - tensors that nodes outside of the block read in forward, graph outputs, state contributions;
//   - small tensors (at most 1/32 of the block's largest: statistics, keys of random numbers);
//   - sums over towers: towers wait for each other there, so none runs twice.
// A repetition has the id and inputs of its node, so its bits are equal; gradients stay the same
// tensors in the same order. Runs last, after differentiate() and remove_dead_nodes(). Returns how
// many nodes run twice.
int recompute_blocks(Graph& graph);

}  // namespace spire::inline graph

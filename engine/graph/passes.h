// Rewrites of a graph before it is compiled. Each keeps what the graph computes.
#pragma once
#include "engine/device/device.h"
#include "engine/graph/graph.h"

namespace spire::inline graph {

// Puts a relu, or an addition and its relu, into the op before it where that op has such a form
// (Op::with_relu, Op::with_residual) and nothing else reads what lies between. Forward graphs only:
// run it before differentiate(). Returns how many nodes it saved.
int fuse_activations(Graph& graph);

// Removes nodes none of whose outputs reach a kept tensor: the graph's outputs, losses and state
// updates, and `also`. Returns how many.
int remove_dead_nodes(Graph& graph, std::span<const Value> also = {});

// Pads rows for a device, so that matrix products read and write them quickly: those of 16-bit
// matrices that are 1024 or more wide and whose rows are no multiples of 16 bytes (the logits of
// GPT-2's 50257 tokens, and their gradient) to the next multiple of 128 elements. Only where the
// kernels that make and read such a matrix take padded rows (KernelEntry::padded_rows; none of the
// CPU's does); graph outputs may be padded, inputs and parameters never are. Shapes stay. Behind
// remove_dead_nodes(), before recompute_blocks(). Returns how many matrices it padded.
int pad_rows(Graph& graph, DeviceId device);

// Trades time for memory (Chen, Xu, Zhang, Guestrin: "Training Deep Nets with Sublinear Memory
// Cost", 2016): what the backward nodes read from inside a block (Graph::Block) is made a second
// time, just before the first of them, so that it need not stay from forward to backward. Kept are
//   - what others than the block's own nodes read in forward, graph outputs, state contributions;
//   - small tensors (at most 1/32 of the block's largest: statistics, keys of random numbers);
//   - sums over towers, which towers meet for: none of them is made twice.
// A repetition has the id of its node and the same inputs, so it gives the same bits; gradients
// stay the same tensors in the same order. The last pass, behind differentiate() and
// remove_dead_nodes(). Returns how many nodes run twice.
int recompute_blocks(Graph& graph);

}  // namespace spire::inline graph

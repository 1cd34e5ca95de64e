// Assigns memory in the arena or another buffer to every tensor of a graph. Tensors that share it
// (views, and outputs that overwrite inputs which no node reads again) form one block.
//
// The gradient buffer can be the beginning of the arena: activations may lie in one of its entries
// until backward writes that entry, at a time when most activations are dead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/parameter_layout.h"

namespace spire {

enum class Space : uint8_t { none, arena, weights, packed, gradients, input };

struct Place {
  Space space = Space::none;
  size_t offset = 0;  // in bytes; for Space::input the index of the input
};

class BufferAssignment {
 public:
  // gradients: to be placed in the gradient buffer; empty for an evaluation. layout: contains all
  // parameters and states that `graph` reads. over_gradients: the arena begins with a gradient
  // buffer; no other tensor lies in the gaps between its entries, or in an entry once that is
  // written.
  BufferAssignment(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                   const ParameterLayout& layout, bool over_gradients = false);

  Place at(Value value) const { return places_[static_cast<size_t>(root(value.id))]; }
  size_t arena_bytes() const { return arena_bytes_; }  // a multiple of workspace_alignment
  size_t peak_bytes() const { return peak_bytes_; }    // a lower bound for arena_bytes()

 private:
  int root(int id) const;
  Place& place(Value value) { return places_[static_cast<size_t>(root(value.id))]; }
  void place_fixed_tensors(const std::vector<ParameterGradient>& gradients);
  void place_in_gradients(Value target, Value value);
  void find_last_uses();
  void share_memory();
  void join_view(Value source, Value view);
  void join(Value block, Value child);
  bool dies_at(Value value, int node) const;
  void place_arena_tensors(bool over_gradients);
  size_t byte_offset(const std::string& name) const;

  const Graph& graph_;  // used only by the constructor, as is layout_
  const ParameterLayout& layout_;
  std::vector<int> parent_;    // union-find forest over tensors; each root stands for a block
  std::vector<Place> places_;  // one entry per tensor, valid for roots
  std::vector<int> last_use_;  // one entry per tensor, valid for roots: last node to read the block
  size_t arena_bytes_ = 0, peak_bytes_ = 0;
};

struct Lifetime {  // a block's size, and its life from the first writer to the last reader (nodes)
  size_t bytes = 0;
  int first = 0, last = 0;
};

struct FixedBlock {  // a block whose place in the arena is given; several may overlap each other
  size_t offset = 0;
  Lifetime life;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one per lifetime, multiples of tensor_alignment
  size_t bytes = 0;             // size of the arena
};

// Plans an arena in which blocks that are alive at the same time never overlap; greedy by size
// (Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference", 2020).
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes,
                       const std::vector<FixedBlock>& fixed = {});

// Returns the gradient buffer, with which an arena begins, as disjoint blocks. The whole units of
// tensor_alignment of an entry of the layout are a block that lives from the node that first writes
// the entry (first_writers[entry]; -1: none, so no block) to node `end`. The unit with an entry's
// last floats and the gap behind it is a block that always lives, since gaps stay zero.
std::vector<FixedBlock> gradient_blocks(const ParameterLayout& layout,
                                        const std::vector<int>& first_writers, int end);

// Returns the largest number of bytes that are alive at one node: a lower bound for every plan.
size_t peak_live_bytes(const std::vector<Lifetime>& lifetimes);

}  // namespace spire

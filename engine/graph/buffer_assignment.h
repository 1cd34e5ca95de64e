// Assigns memory to every tensor of a graph. Tensors that share memory (views, and outputs written
// over inputs that no node reads again) form one block.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/graph/parameter_layout.h"

namespace spire::inline graph {

enum class Space : uint8_t { none, arena, weights, packed, gradients, input };

struct Place {
  Space space = Space::none;
  size_t offset = 0;  // bytes; for Space::input the index of the input
};

class BufferAssignment {
 public:
  // gradients: those written to the gradient buffer; empty: evaluation.
  BufferAssignment(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                   const ParameterLayout& layout);

  Place at(Value value) const { return places_[static_cast<size_t>(root(value.id))]; }
  size_t arena_bytes() const { return arena_bytes_; }  // a multiple of workspace_alignment
  size_t peak_bytes() const { return peak_bytes_; }    // lower bound of arena_bytes()

 private:
  int root(int id) const;
  Place& place(Value value) { return places_[static_cast<size_t>(root(value.id))]; }
  void place_fixed_tensors(const std::vector<ParameterGradient>& gradients);
  void place_in_gradients(Value target, Value value);
  void find_last_uses();
  void share_memory();
  void join_view(Value source, Value view);
  void join_overwritten(Value input, Value output);
  void join(Value block, Value child);
  bool may_join(Value output);
  bool dies_at(Value value, int node) const;
  void place_arena_tensors();
  size_t byte_offset(const std::string& name) const;

  const Graph& graph_;  // this and layout_: used by the constructor only
  const ParameterLayout& layout_;
  std::vector<int> parent_;    // union-find forest over tensors; a root is a block
  std::vector<Place> places_;  // by root
  std::vector<int> last_use_;  // by root: the last node that reads the block
  size_t arena_bytes_ = 0, peak_bytes_ = 0;
};

struct Lifetime {  // of a block: from its first writer to its last reader
  size_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one per lifetime, multiples of tensor_alignment
  size_t bytes = 0;             // of the arena
};

// Plans an arena in which blocks alive together never overlap. Greedy by size (Pisarchyk, Lee:
// "Efficient Memory Management for Deep Neural Net Inference", 2020).
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

// Returns the most bytes alive at one node: a lower bound of any plan.
size_t peak_live_bytes(const std::vector<Lifetime>& lifetimes);

}  // namespace spire::inline graph

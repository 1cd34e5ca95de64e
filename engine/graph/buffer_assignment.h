// Where every tensor of a graph lies when it runs: worked out from the graph alone, before a kernel
// is made. Tensors that share memory (views, outputs written over dying inputs) are one block.
#pragma once
#include <vector>

#include "engine/graph/parameter_layout.h"

namespace spire::inline graph {

enum class Space : uint8_t { none, arena, weights, packed, gradients, input };

struct Place {
  Space space = Space::none;
  size_t offset = 0;  // in bytes; for Space::input the index of the input
};

class BufferAssignment {
 public:
  // gradients: those that go to the gradient buffer; empty for evaluation. What `graph` reads of
  // parameters and states, `layout` knows.
  BufferAssignment(const Graph& graph, const std::vector<ParameterGradient>& gradients,
                   const ParameterLayout& layout);

  Place at(Value value) const { return places_[static_cast<size_t>(root(value.id))]; }
  size_t arena_bytes() const { return arena_bytes_; }  // a multiple of workspace_alignment
  size_t peak_bytes() const { return peak_bytes_; }    // lower bound of arena_bytes()

 private:
  int root(int id) const;
  Place& place(Value value) { return places_[static_cast<size_t>(root(value.id))]; }
  void place_fixed_tensors(const std::vector<ParameterGradient>& gradients);
  void send_to_gradients(Value target, Value value);
  void find_last_uses();
  void share_memory();
  void join_view(Value source, Value view);
  void join_overwritten(Value input, Value output);
  void join(Value block, Value child);
  bool accepts(Value output);
  bool dies_at(Value value, int node) const;
  void place_arena_tensors();
  size_t byte_offset(const std::string& name) const;

  const Graph& graph_;  // these two during construction only
  const ParameterLayout& layout_;
  std::vector<int> parent_;    // of the memory-sharing forest
  std::vector<Place> places_;  // of roots
  std::vector<int> last_use_;  // of roots: last node that reads the block
  size_t arena_bytes_ = 0, peak_bytes_ = 0;
};

}  // namespace spire::inline graph

// From lifetimes to one arena: where each tensor lies, so that tensors alive together never
// overlap.
#pragma once
#include <cstddef>
#include <vector>

namespace spire::inline graph {

// A block of memory and the nodes during which it must stay: first writes it, last reads it.
struct Lifetime {
  size_t bytes = 0;
  int first = 0, last = 0;
};

struct MemoryPlan {
  std::vector<size_t> offsets;  // one a lifetime, multiples of tensor_alignment
  size_t bytes = 0;             // of the arena
};

// Greedy by size: the largest block first, each at the lowest offset that is free during its life
// (Pisarchyk, Lee: "Efficient Memory Management for Deep Neural Net Inference", 2020).
MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes);

// Lower bound of any plan: the most bytes alive at one node.
size_t peak_live_bytes(const std::vector<Lifetime>& lifetimes);

}  // namespace spire::inline graph

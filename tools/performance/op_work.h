// The work of each op of a graph, floating-point operations and bytes, as the roofline model counts
// it (Williams, Waterman, Patterson: "Roofline: an insightful visual performance model for
// multicore architectures", 2009). Estimated and measured times of ops stand beside it.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace spire {

enum class Pass : uint8_t { forward, backward, update };
std::string word_of(Pass pass);

struct OpWork {
  std::string layer, op;  // layer: as `trainer plan` names it; empty if the op has no weights
  std::string shapes;     // "64x28x28x16, 32x3x3x16 -> 64x28x28x32"
  Pass pass = Pass::forward;
  DType type = DType::f32;  // it computes in: that of its 16-bit tensors, if it has any
  double flops = 0;         // 2 per multiply-add; 0 for ops without products
  double bytes = 0;         // read and written

  bool same_kind(const OpWork& other) const { return op == other.op && pass == other.pass; }
};

// Returns the work of each node that is no view, in the graph's order: one entry per kernel of the
// graph's Plan. Each tensor counts once, with three exceptions: products read parameters in the
// compute type; an embedding touches as many rows of its table as there are tokens; batch norm
// reads its activations twice.
std::vector<OpWork> work_of(const Graph& graph, const std::vector<ParameterGradient>& gradients);

// Returns the sum of each kind of op in each pass, the longest first. Row: an OpWork with
// `seconds`; add(sum, row) adds up all numbers.
template <typename Row, typename Add>
std::vector<Row> sums_by_kind(const std::vector<Row>& rows, const Add& add) {
  std::vector<Row> kinds;
  for (const Row& row : rows) {
    auto known = std::ranges::find_if(kinds, [&](const Row& kind) { return kind.same_kind(row); });
    if (known == kinds.end()) {
      kinds.push_back(row);
    } else {
      add(*known, row);
    }
  }
  std::ranges::stable_sort(kinds, [](const Row& a, const Row& b) { return a.seconds > b.seconds; });
  return kinds;
}

}  // namespace spire

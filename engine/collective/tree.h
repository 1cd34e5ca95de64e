// The fixed binary tree that sums contributions of towers 0..T-1. Its shape depends on T alone: the
// left child of a node has the largest power of two of towers that leaves the right child at least
// one. The additions and their order do not depend on which device holds which towers, so the sum
// is the same bit for bit, for any T and any split into contiguous ranges.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/base/dtype.h"

namespace spire::inline collective {

// Towers [begin, end): a node of the tree, or the towers of a lane.
struct TowerRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const TowerRange&) const = default;
};

// First tower of the right child. REQUIRES: node.size() > 1.
int tree_split(TowerRange node);

// The maximal nodes of the tree over [0, towers) that lie inside `range`, in order.
std::vector<TowerRange> nodes_inside(int towers, TowerRange range);

// The contiguous share of lane `lane` of `lanes`; sizes differ by at most one.
TowerRange towers_of_lane(int towers, int lane, int lanes);

// The order of additions. invariant: along the tree. native: one after another, in the order of
// towers, lanes and the transport, so it depends on the placement of the towers.
enum class Reduction : uint8_t { invariant, native };

// Schedule of a lane that sums its towers one after another in few buffers. Step i belongs to the
// i-th tower of the range: its gradient is written to buffer `target`, then each add does
// into += from.
struct TreeAdd {
  int into = 0, from = 0;
};
struct TreeStep {
  int target = 0;
  std::vector<TreeAdd> adds;
};
// A buffer that holds the sum over the towers of `range`.
struct BufferedNode {
  TowerRange range;
  int buffer = 0;
};
struct LaneSchedule {
  std::vector<TreeStep> steps;      // one a tower of the range
  std::vector<BufferedNode> nodes;  // what the buffers hold at the end, in tower order
  int buffers = 0;                  // number of buffers that the lane needs
};
LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range);
// The same for towers in lockstep, each with its own buffer: all adds follow the last tower.
LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range);

// Sums the tree below a node, a range of elements at a time, from partial sums in buffers.
class TreeSum {
 public:
  struct Leaf {
    TowerRange node;
    const float* data;  // the node's sum
    int64_t first = 0;  // index of the element that data[0] is
  };
  // REQUIRES: the leaves' nodes partition `root`; for `invariant` they are nodes of its tree.
  TreeSum(Reduction reduction, TowerRange root, const std::vector<Leaf>& leaves);

  static constexpr int64_t chunk = 4096;  // floats; scratch is chunk x depth() floats
  // Number of chunks that hold so many floats; the last one may be partly filled.
  static constexpr int64_t chunks_of(int64_t floats) { return (floats + chunk - 1) / chunk; }

  // out[i] = sum over the root's towers at begin + i, for count <= chunk elements. Returns a
  // pointer to the sum: `out`, or the only leaf itself. `out` may be the buffer of the first leaf,
  // not of another. Thread-safe with a scratch per thread.
  const float* sum(int64_t begin, int64_t count, float* out, float* scratch) const;
  int depth() const { return depth_; }

  // The additions in postfix order, for code that makes them elsewhere, as GPU kernels do. Each
  // term pushes a leaf on a stack, then replaces the two top entries by their sum `additions`
  // times. The stack holds at most depth() entries; one is left at the end.
  struct Term {
    const float* data = nullptr;
    int64_t first = 0;  // as in the leaf
    int additions = 0;
  };
  std::span<const Term> terms() const { return terms_; }

 private:
  void add_leaf(const Leaf& leaf);
  void build_tree(TowerRange range, const std::vector<Leaf>& leaves, int level);
  void build_sequence(const std::vector<Leaf>& leaves);

  std::vector<Term> terms_;
  int depth_ = 1;
};

// The same tree over one double a tower: losses, counts, moments.
double tree_sum(std::span<const double> per_tower);

// The number of additions after tower `tower` is pushed, as in TreeSum::Term, for code that sums
// towers 0, 1, ... in order.
SPIRE_HOST_DEVICE inline int additions_after(int tower, int towers) {
  int additions = 0;
  for (int n = tower + 1; n % 2 == 0; n /= 2) ++additions;
  if (tower + 1 < towers) return additions;
  for (int n = towers & (towers - 1); n != 0; n &= n - 1) ++additions;
  return additions;
}

}  // namespace spire::inline collective

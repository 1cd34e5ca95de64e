// The fixed binary tree in which contributions of towers 0..T-1 are summed. Its shape depends on T
// alone: a node over [begin, end) has as left child the largest power of two of towers that leaves
// the right one something. Whoever holds which towers, the additions and their order are the same,
// so the sum is the same bit for bit, for any T and any split into contiguous ranges.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/base/dtype.h"

namespace spire::inline collective {

// Towers [begin, end): a node of the tree, or what a lane hosts.
struct TowerRange {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const TowerRange&) const = default;
};

// First tower of the right child. REQUIRES: node.size() > 1.
int tree_split(TowerRange node);

// The maximal nodes of the tree over [0, towers) that lie inside `range`, in order.
std::vector<TowerRange> nodes_inside(int towers, TowerRange range);

// Contiguous shares of `towers` for lane `lane` of `lanes`; sizes differ by at most one.
TowerRange towers_of_lane(int towers, int lane, int lanes);

// How additions are ordered: `invariant` along the tree; `native` one after another, in the order
// of towers, lanes and whatever the transport does. The latter depends on who hosts what.
enum class Reduction : uint8_t { invariant, native };

// How a lane sums its towers one after another with few buffers. Entry i belongs to the i-th tower
// of the range: its gradient is written to buffer `target`; then each add does into += from.
struct TreeAdd {
  int into = 0, from = 0;
};
struct TreeStep {
  int target = 0;
  std::vector<TreeAdd> adds;
};
// Towers [range) summed into the buffer.
struct BufferedNode {
  TowerRange range;
  int buffer = 0;
};
struct LaneSchedule {
  std::vector<TreeStep> steps;      // one a tower of the range
  std::vector<BufferedNode> nodes;  // what the buffers hold at the end, in tower order
  int buffers = 0;                  // how many the lane needs
};
LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range);
// The same for towers that run in lockstep, each with a buffer of its own: all adds come last.
LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range);

// Sums the tree below a node for a slice, from partial sums that lie in buffers.
class TreeSum {
 public:
  struct Leaf {
    TowerRange node;
    const float* data;  // the node's sum,
    int64_t first = 0;  // from this element on
  };
  // REQUIRES: the leaves' nodes partition `root`; for `invariant` they are nodes of its tree.
  TreeSum(Reduction reduction, TowerRange root, const std::vector<Leaf>& leaves);

  static constexpr int64_t chunk = 4096;  // floats; scratch is chunk x depth() floats

  // out[i] = sum over the root's towers at begin + i, for count <= chunk elements. Returns a
  // pointer to the sum: out, or the only leaf itself. `out` may be the place of the first leaf,
  // and of no other. Thread-safe with a scratch of one's own.
  const float* sum(int64_t begin, int64_t count, float* out, float* scratch) const;
  int depth() const { return depth_; }

  // The additions in postfix order, for whoever makes them elsewhere: each leaf goes on top of a
  // stack, and then, so often, the two entries on top give way to their sum. The stack holds
  // depth() entries at most; one is left.
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

// And for whoever adds up single towers 0, 1, ... of a run elsewhere: how many additions follow
// tower's own, as in TreeSum::Term.
SPIRE_HOST_DEVICE inline int additions_after(int tower, int towers) {
  int additions = 0;
  for (int n = tower + 1; n % 2 == 0; n /= 2) ++additions;
  if (tower + 1 < towers) return additions;
  for (int n = towers & (towers - 1); n != 0; n &= n - 1) ++additions;
  return additions;
}

}  // namespace spire::inline collective

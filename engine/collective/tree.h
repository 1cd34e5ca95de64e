// Fixed order of additions over towers 0..T-1, and cuts of the flat gradient buffer. Sums follow a
// binary tree whose shape depends on T alone: a left child has the largest power of two of towers
// that leaves the right one at least one. So all splits of the towers give the same bits.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/dtype.h"

namespace spire::inline collective {

struct TowerRange {  // towers [begin, end): a node of the tree, or those of a lane
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const TowerRange&) const = default;
};

int tree_split(TowerRange node);  // first tower of the right child. REQUIRES: node.size() > 1

// Returns the maximal nodes of the tree over [0, towers) inside `range`, in order.
std::vector<TowerRange> nodes_inside(int towers, TowerRange range);

TowerRange towers_of_lane(int towers, int lane, int lanes);  // sizes differ by at most one

enum class Reduction : uint8_t {
  invariant,  // along the tree
  native,     // in the order of towers, lanes and the transport: depends on the towers' placement
};

struct TreeAdd {
  int into = 0, from = 0;  // buffers: into += from
};
struct TreeStep {
  int target = 0;  // buffer to which the tower's gradient is written, before the adds
  std::vector<TreeAdd> adds;
};
struct BufferedNode {
  TowerRange range;
  int buffer = 0;  // contains the sum over the towers of `range`
};
struct LaneSchedule {               // of a lane that sums its towers one after another
  std::vector<TreeStep> steps;      // one a tower of the range
  std::vector<BufferedNode> nodes;  // contents of the buffers at the end, in tower order
  int buffers = 0;                  // number of buffers that the lane needs
};
LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range);
// The same in lockstep, each tower with a buffer: all adds follow the last tower.
LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range);

struct FloatRange {
  int64_t begin = 0, end = 0;  // elements of a flat buffer
  int64_t size() const { return end - begin; }
  bool operator==(const FloatRange&) const = default;
};

inline FloatRange common(FloatRange a, FloatRange b) {  // empty: size() <= 0
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

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
  static constexpr int64_t chunks_of(int64_t floats) { return (floats + chunk - 1) / chunk; }

  // out[i] = sum over the root's towers at begin + i, i < count <= chunk. Returns the sum: `out`,
  // which may be the first leaf's buffer, or the only leaf. Thread-safe with a scratch each.
  const float* sum(int64_t begin, int64_t count, float* out, float* scratch) const;
  int depth() const { return depth_; }

  // The additions in postfix order, as GPU kernels make them. A term pushes a leaf on a stack of at
  // most depth() entries, then replaces the two top entries by their sum `additions` times.
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

double tree_sum(std::span<const double> per_tower);  // one number a tower: losses, counts, moments

// Returns TreeSum::Term::additions of a tower, for code that pushes towers 0, 1, ... in order.
SPIRE_HOST_DEVICE inline int additions_after(int tower, int towers) {
  int additions = 0;
  for (int n = tower + 1; n % 2 == 0; n /= 2) ++additions;
  if (tower + 1 < towers) return additions;
  for (int n = towers & (towers - 1); n != 0; n &= n - 1) ++additions;
  return additions;
}

// Cuts `total` floats into buckets of `floats`; the first has `first`, so that reduction starts
// early. Cuts, also share_of()'s, are multiples of TreeSum::chunk.
std::vector<FloatRange> make_buckets(int64_t total, int64_t first, int64_t floats);

// Returns the part of members [begin, end) of `count`, in whole chunks.
FloatRange share_of(FloatRange bucket, int begin, int end, int count);

}  // namespace spire::inline collective

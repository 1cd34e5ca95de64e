// The fixed binary tree in which contributions of towers 0..T-1 are summed. Its shape depends on T
// alone: a node over [begin, end) has as left child the largest power of two of towers that leaves
// the right one something. Whoever holds which towers, the additions and their order are the same,
// so the sum is the same bit for bit, for any T and any split into contiguous ranges.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace spire {

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

// How a lane sums its towers one after another with few buffers. Entry i belongs to the i-th tower
// of the range: its gradient is written to buffer `target`; then each add does into += from.
struct TreeAdd {
  int into = 0, from = 0;
};
struct TreeStep {
  int target = 0;
  std::vector<TreeAdd> adds;
};
struct LaneSchedule {
  std::vector<TreeStep> steps;    // one a tower of the range
  std::vector<TowerRange> nodes;  // what the buffers hold at the end: node i in buffer i
  int buffers = 0;                // how many the lane needs
};
LaneSchedule lane_schedule(int towers, TowerRange range);

// Sums the whole tree for a slice, from the nodes that lanes left behind.
class TreeSum {
 public:
  struct Leaf {
    TowerRange node;
    const float* data;  // the node's sum, whole buffer
  };
  // REQUIRES: the leaves' nodes partition [0, towers) and are nodes of its tree.
  TreeSum(int towers, std::vector<Leaf> leaves);

  static constexpr int64_t chunk = 4096;  // floats; scratch is chunk x depth() floats

  // out[i] = sum over towers at begin + i, for count <= chunk elements. Returns a pointer to the
  // sum: out, or the only leaf itself. Thread-safe with a scratch of one's own.
  const float* sum(int64_t begin, int64_t count, float* out, float* scratch) const;
  int depth() const { return depth_; }

 private:
  struct Node {
    const float* leaf = nullptr;  // or both children
    int left = -1, right = -1;
  };
  int build(TowerRange range, std::span<const Leaf> leaves, int level);
  const float* evaluate(int node, int64_t begin, int64_t count, float* out, float* scratch) const;

  std::vector<Node> nodes_;
  int root_ = -1;
  int depth_ = 1;
};

// The same tree over one double a tower: losses, counts, norms.
double tree_sum(std::span<const double> per_tower);

}  // namespace spire

// Fixed order of additions over towers 0..T-1 (shares of the global batch), and cuts of
// the flat gradient buffer into chunks. Sums follow a binary tree whose shape depends only on T: of
// n towers the left child gets the largest power of two below n. So no split of the towers into
// contiguous ranges changes the bits.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <spire/tensor.h>

namespace spire {

struct TowerRange {  // towers [begin, end): those of a node of the tree, a lane or a device
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const TowerRange&) const = default;
};

int tree_split(TowerRange node);  // first tower of the right child. REQUIRES: node.size() > 1

enum class Reduction : uint8_t {
  invariant,  // along the tree: the same bits for any placement of the towers
  native,     // in the order of towers, lanes and the transport, so the placement changes bits
};

// Returns the largest nodes of the tree over [0, towers) that lie inside `range`, in tower order.
// With Reduction::native it returns `range` itself.
std::vector<TowerRange> nodes_inside(Reduction reduction, int towers, TowerRange range);

TowerRange towers_of_lane(int towers, int lane, int lanes);  // sizes differ by at most one

struct TreeAdd {
  int into = 0, from = 0;  // numbers of buffers: into += from
};
struct TreeStep {
  int target = 0;             // buffer to which the tower's gradient is written
  std::vector<TreeAdd> adds;  // to make after that tower
};
struct BufferedNode {
  TowerRange range;
  int buffer = 0;  // buffer with the sum over the towers of `range`
};
struct LaneSchedule {               // the additions of one lane
  std::vector<TreeStep> steps;      // one per tower of the lane, in order
  std::vector<BufferedNode> nodes;  // the sums that remain at the end, in tower order
  int buffers = 0;                  // number of gradient buffers that the lane needs
};
// For a lane that runs the towers of `range` one after another.
LaneSchedule lane_schedule(Reduction reduction, int towers, TowerRange range);
// For a lane that runs them in lockstep: each tower has its own buffer, all adds come at the end.
LaneSchedule lockstep_schedule(Reduction reduction, int towers, TowerRange range);

struct FloatRange {
  int64_t begin = 0, end = 0;  // elements [begin, end) of a flat buffer
  int64_t size() const { return end - begin; }
  bool operator==(const FloatRange&) const = default;
};

inline FloatRange common(FloatRange a, FloatRange b) {  // the overlap; size() <= 0 if there is none
  return {a.begin < b.begin ? b.begin : a.begin, a.end < b.end ? a.end : b.end};
}

// Computes the sum of one tree node from the sums of smaller nodes, its leaves, in buffers.
class TreeSum {
 public:
  struct Leaf {
    TowerRange node;
    const float* data;  // buffer with the node's sum
    int64_t first = 0;  // index of data[0] in the flat buffer
  };
  // REQUIRES: the leaves partition the towers of `root`; for `invariant` they are tree nodes.
  TreeSum(Reduction reduction, TowerRange root, const std::vector<Leaf>& leaves);

  static constexpr int64_t chunk = 4096;  // floats: the unit of cuts, and the most per sum()
  static constexpr int64_t chunks_of(int64_t floats) { return (floats + chunk - 1) / chunk; }

  // Sets out[i] to the sum over the root's towers at element begin + i, for i < count <= chunk, and
  // returns `out`. If there is a single leaf, writes nothing and returns its data at `begin`. out:
  // may be the first leaf's buffer, but no other leaf's. scratch: chunk * depth() floats, one per
  // thread that calls this.
  const float* sum(int64_t begin, int64_t count, float* out, float* scratch) const;
  int depth() const { return depth_; }

  // The additions in postfix order, in which GPU kernels make them. A term pushes a leaf on a stack
  // of at most depth() entries (kernels keep it in registers), then replaces the two top entries by
  // their sum, `additions` times.
  struct Term {
    const float* data = nullptr;
    int64_t first = 0;  // as in Leaf
    int additions = 0;
  };
  std::span<const Term> terms() const { return terms_; }

 private:
  void build(Reduction reduction, TowerRange range, const std::vector<Leaf>& leaves);

  std::vector<Term> terms_;
  int depth_ = 1;
};

double tree_sum(std::span<const double> per_tower);  // one per tower, added along the tree

// Returns TreeSum::Term::additions after tower `tower`, if every tower is a leaf.
SPIRE_HOST_DEVICE inline int additions_after(int tower, int towers) {
  int additions = 0;
  for (int n = tower + 1; n % 2 == 0; n /= 2) ++additions;
  if (tower + 1 < towers) return additions;
  for (int n = towers & (towers - 1); n != 0; n &= n - 1) ++additions;
  return additions;
}

// Cuts a bucket into `count` nearly equal parts of whole chunks and returns parts [begin, end).
FloatRange share_of(FloatRange bucket, int begin, int end, int count);

// Calls body(chunk) for each chunk of a range that begins at one.
template <typename Body>
void for_chunks(FloatRange range, const Body& body) {
  for (FloatRange chunk = range; chunk.begin < range.end; chunk.begin = chunk.end) {
    chunk.end = common(range, {chunk.begin, chunk.begin + TreeSum::chunk}).end;
    body(chunk);
  }
}

}  // namespace spire

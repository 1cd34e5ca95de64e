// What a lane adds up, on its device, in its stream's order: flat fp32 buffers of gradients, and
// vectors of towers.
#pragma once
#include <memory>

#include "engine/collective/buckets.h"
#include "engine/collective/tree.h"
#include "engine/device/stream.h"

namespace spire::inline collective {

// Buffers are addressed by their first float; all lie in memory that the device reaches. Allocates
// nothing once made.
class LaneArithmetic {
 public:
  virtual ~LaneArithmetic() = default;

  static constexpr int max_gpu_leaves = 64;
  static constexpr int max_depth = 16;  // of a GPU's trees, and of those over rows: 32768 towers

  // into[i] += from[i] for `range`.
  virtual void add(float* into, const float* from, FloatRange range) = 0;

  // out[i] = the tree's sum at i, for `range`; `out` may be the buffer of one of the tree's leaves.
  // Bits are those of TreeSum::sum. On a GPU the tree has max_gpu_leaves leaves at most; each may
  // lie in another device's memory. Throws Error(unexpected) for more.
  virtual void sum(const TreeSum& tree, FloatRange range, float* out) = 0;

  // squares[c] = sum of values[i]^2 in fp64 over what chunk c (TreeSum::chunk floats from c * chunk
  // on) has in `range`, which begins with a chunk. In an order that is the same for all ranges.
  virtual void square(const float* values, FloatRange range, double* squares) = 0;

  // out[i] = tree_sum() of rows[t * count + i] over towers t; out is none of the rows.
  virtual void sum_rows(const double* rows, int towers, int64_t count, double* out) = 0;
};

// depth: of the deepest tree it sums. The stream outlives it.
std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth);
std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(Stream& stream, int depth);

}  // namespace spire::inline collective

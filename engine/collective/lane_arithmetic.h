// Arithmetic of a lane on its device, in stream order: sums of flat fp32 gradient buffers and of
// towers' fp64 rows.
#pragma once
#include <memory>

#include "engine/collective/buckets.h"
#include "engine/collective/tree.h"
#include "engine/device/stream.h"

namespace spire::inline collective {

void add_floats(float* into, const float* from, int64_t count);  // into[i] += from[i]

// Sums the squares in fp64: sixteen interleaved partial sums, added up in order, so the result does
// not depend on the instruction set.
double sum_of_squares(const float* values, int64_t count);

// Pointers are to the first element of a whole buffer, in memory that the device reaches. Methods
// allocate nothing.
class LaneArithmetic {
 public:
  virtual ~LaneArithmetic() = default;

  static constexpr int max_gpu_leaves = 64;
  static constexpr int max_depth = 16;  // of a GPU's trees, and of those over rows: 32768 towers

  // into[i] += from[i] for `range`.
  virtual void add(float* into, const float* from, FloatRange range) = 0;

  // out[i] = the tree's sum at i, for `range`, with the bits of TreeSum::sum. `out` may be the
  // buffer of one of the leaves. On a GPU the tree has at most max_gpu_leaves leaves, which may lie
  // on other devices; throws Error(unexpected) for more.
  virtual void sum(const TreeSum& tree, FloatRange range, float* out) = 0;

  // squares[c] = sum of values[i]^2 in fp64 over the part of chunk c (TreeSum::chunk floats from
  // c * chunk on) in `range`, which begins at a chunk. The order does not depend on the range.
  virtual void square(const float* values, FloatRange range, double* squares) = 0;

  // out[i] = tree_sum() of rows[t * count + i] over towers t. `out` does not overlap the rows.
  virtual void sum_rows(const double* rows, int towers, int64_t count, double* out) = 0;
};

// depth: of the deepest tree that it sums. The stream outlives the result.
std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth);
std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(Stream& stream, int depth);

}  // namespace spire::inline collective

// Sums of gradients and small vectors on a stream: of a lane (a thread of a device), or of the
// thread that exchanges buckets. On a CPU a sum is done when the call returns.
#pragma once
#include <cstdint>
#include <memory>

#include "engine/update/tree.h"

namespace spire {
class Stream;
}

namespace spire {

void add_floats(float* into, const float* from, int64_t count);  // into[i] += from[i]

// Returns the fp64 sum of squares; the order of additions does not depend on the instruction set.
double sum_of_squares(const float* values, int64_t count);

// Methods allocate nothing. Pointers are to whole buffers, which the device can access.
class LaneArithmetic {
 public:
  virtual ~LaneArithmetic() = default;

  static constexpr int max_gpu_leaves = 1024;  // members without peers, at least
  static constexpr int max_depth = 16;  // of trees on a GPU and in sum_rows(): up to 65535 towers

  virtual void add(float* into, const float* from, FloatRange range) = 0;  // into[i] += from[i]

  // Numbers as bf16, rounded to nearest even: in place, to half the bytes, and back.
  virtual void round(float* values, FloatRange range) = 0;
  virtual void narrow(const float* from, int64_t count, bfloat16* to) = 0;
  virtual void widen(const bfloat16* from, int64_t count, float* to) = 0;

  // out[i] = the tree's sum at i, bitwise equal to TreeSum::sum(). `out` may be a leaf's buffer.
  // Throws Error(unexpected) on a GPU for more than max_gpu_leaves leaves.
  virtual void sum(const TreeSum& tree, FloatRange range, float* out) = 0;

  // For each chunk c (TreeSum::chunk floats from c * TreeSum::chunk on) that has floats in `range`:
  // squares[c] = fp64 sum of values[i]^2 over these floats. `range` begins where a chunk begins.
  // The order of additions does not depend on the range.
  virtual void square(const float* values, FloatRange range, double* squares) = 0;

  // out[i] = tree_sum() of rows[t * count + i] over towers t. `out` must not overlap `rows`.
  virtual void sum_rows(const double* rows, int towers, int64_t count, double* out) = 0;
};

// depth: that of the deepest tree to sum. The stream outlives the result.
std::unique_ptr<LaneArithmetic> make_lane_arithmetic(Stream& stream, int depth);
// On the GPU cuda:<index>; stream: the cudaStream_t.
std::unique_ptr<LaneArithmetic> make_cuda_lane_arithmetic(int index, void* stream);

// Throws Error(unexpected) for a tree that is too large for LaneArithmetic::sum() on a GPU.
void expect_gpu_tree(const TreeSum& tree);

}  // namespace spire

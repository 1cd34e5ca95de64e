// A piece: the smallest part of the weights that an update treats at once. On a GPU one block
// updates a piece. update_pieces.h cuts the weights into pieces.
#pragma once
#include <cstddef>
#include <cstdint>

#include <spire/tensor.h>

namespace spire {

// The part of one span (WeightSpan: weights with the same factors) that lies in one chunk. Its
// weights share the trust ratio and the cell of TensorNorms.
struct UpdatePiece {
  int64_t begin = 0, count = 0;   // floats [begin, begin + count) of the flat buffer
  int64_t state = 0;              // offset of the optimizer state in each slot
  float decay = 1.0f, lr = 1.0f;  // those of the span
  size_t span = 0, cell = 0;      // cell: in TensorNorms, unused unless `adapts`
  bool adapts = false;
};

// A part of a running mean or variance of batch normalization.
struct StatisticPiece {
  int64_t begin = 0, count = 0;  // as in UpdatePiece
  float momentum = 0;

  // sum: the step's statistic, averaged over towers by the reduction.
  SPIRE_HOST_DEVICE void update(float sum, float& running) const {
    // What is equal stays so, without rounding: batch norm's variance of one row (BatchNormOp).
    running = sum == running ? running : (1.0f - momentum) * running + momentum * sum;
  }
  void update(const float* sums, float* running, int64_t floats) const {
    for (int64_t i = 0; i < floats; ++i) update(sums[i], running[i]);
  }
};

}  // namespace spire

// The kernels of the update on a GPU: what they read, and functions that launch them on a stream.
// A launch without blocks does nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <spire/tensor.h>

#include "engine/update/formulas.h"

namespace spire {

constexpr int max_unreported_skips = 1;  // steps that may be skipped before the host knows of it

// Floats per load. Pieces begin and end at multiples of it, as parameters begin at multiples of 16.
constexpr int update_width = 4;

// A piece: the smallest part of the weights that an update treats at once, by one block on a GPU.
// It is the part of one span (WeightSpan: weights with the same factors) that lies in one chunk,
// whose weights share the trust ratio and the cell of TensorNorms. update_pieces.h cuts pieces.
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

struct StepFactors {         // factors of one step, which the device computes before the update
  float gradient = 1.0f;     // factor of gradients; negative: the step is skipped
  int unreported_skips = 0;  // skipped earlier steps that the host does not know of
};

// Device addresses that the kernels read and write.
struct UpdateBuffers {
  const UpdatePiece* pieces = nullptr;
  const StatisticPiece* statistics = nullptr;
  unsigned piece_count = 0, statistic_count = 0;
  float* weights = nullptr;     // whole flat buffer
  const float* sums = nullptr;  // whole flat buffer
  float* slots[2] = {};         // only the owned weights' state
  float* average = nullptr;     // only the owned weights'; null: weights are not averaged
  const StepFactors* factors = nullptr;
  double* norms = nullptr;       // layer-wise optimizers only: TensorNorms::table()
  const float* trust = nullptr;  // layer-wise optimizers only: the trust ratio of each span
};

struct TrustSpan {  // a WeightSpan with a trust ratio
  size_t first_cell = 0, end_cell = 0;
  float decay = 1.0f;
  size_t span = 0;  // its index
};

// A step's formulas, one per possible value of `unreported_skips`, which only the device knows: all
// of one kind.
struct StepRules {
  OptimizerFormula optimizer[max_unreported_skips + 1];
  EmaFormula ema[max_unreported_skips + 1];
};

// Computes the step's factors with one block. skipped: the skipped steps that the host knows of.
void launch_step_factors(void* stream, std::span<const double> squares, const GradientScale& scale,
                         int64_t skipped, StepFactors* factors);

// Counts the step in the loss scale's state, with one block. minimum, growth_interval: those of
// LossScaleConfig.
void launch_follow(void* stream, std::span<const double> squares, double minimum,
                   int64_t growth_interval, LossScaleState* state);

// average = weights.
void launch_begin_average(void* stream, const UpdateBuffers& buffers);
void launch_swap_average(void* stream, const UpdateBuffers& buffers);

// For layer-wise optimizers alone: launch_measure() writes buffers.norms, launch_trust() computes
// the trust ratio of each of `count` spans from them.
void launch_measure(void* stream, const UpdateBuffers& buffers, const StepRules& rules);
void launch_trust(void* stream, const TrustSpan* spans, size_t count, const UpdateBuffers& buffers,
                  const StepRules& rules, float* trust);

void launch_update(void* stream, const UpdateBuffers& buffers, const StepRules& rules);

}  // namespace spire

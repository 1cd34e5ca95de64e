// The kernels of the update on a GPU: what they read, and functions that launch them on a stream.
// A launch of no blocks is none.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/update/formulas.h"
#include "engine/update/update_piece.h"

namespace spire {

constexpr int max_unreported_skips = 1;  // steps that may be skipped before the host knows of it

// Floats per load. Pieces begin and end at multiples of it, as parameters begin at multiples of 16.
constexpr int update_width = 4;

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

// For layer-wise optimizers; others measure nothing and have no trust ratios.
void launch_measure(void* stream, const UpdateBuffers& buffers, const StepRules& rules);
void launch_trust(void* stream, const TrustSpan* spans, size_t count, const UpdateBuffers& buffers,
                  const StepRules& rules, float* trust);

void launch_update(void* stream, const UpdateBuffers& buffers, const StepRules& rules);

}  // namespace spire

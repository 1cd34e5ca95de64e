// Updates slices (contiguous ranges) of the flat fp32 weights, and of their moving average, from
// the same slices of the averaged gradient. The bits do not depend on where slices begin and end.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/formulas.h"

namespace spire {

// Slice of `count` floats. Pointers lead to its first element; the arrays do not overlap.
struct UpdateSlice {
  int64_t count = 0;
  const float* gradients = nullptr;
  float* weights = nullptr;            // updated in place
  std::span<float* const> slots = {};  // optimizer state in the order of slot_names(); in place
};

// Returns the formula of a step for one weight; its type depends on the config alone. step: 1 for
// the first update, for Adam's bias correction. Throws Error(config) for an unknown name.
OptimizerFormula formula_of(const OptimizerConfig& config, float lr, int64_t step);

// Of an optimizer of the program.
inline constexpr size_t max_own_slots = 4;

// Names of the state that each weight has: {"momentum"}, or {"m", "v"}. Throws Error(config) for
// more than max_own_slots.
std::vector<std::string> slot_names(const OptimizerConfig& config);
// Returns the number of slots, with that of the moving average, if there is one; it is the last.
size_t slot_count(const OptimizerConfig& config, const EmaConfig& ema);
bool is_layerwise(const OptimizerConfig& config);  // a trust ratio scales each tensor's step

// Updates a slice on the CPU. Threads may call it and measure_slice() for disjoint slices.
void update_slice(const OptimizerFormula& formula, const SliceFactors& at,
                  const UpdateSlice& slice);
// Returns the squares of a slice. Measure all slices of a tensor and add the results: trust_ratio()
// of that sum is SliceFactors::trust of the slices. It may write the slots, but not the weights.
// Where the optimizer is not layer-wise, it does nothing, and the ratio is 1.
TrustSquares measure_slice(const OptimizerFormula& formula, const SliceFactors& at,
                           const UpdateSlice& slice);
float trust_ratio(const OptimizerFormula& formula, const TrustSquares& tensor, float decay);

// Exponential moving average of the weights, for evaluation, after Polyak & Juditsky 1992. Returns
// the decay at update `step` = 1, 2, ...; with warmup at most (1 + step) / (10 + step).
double average_decay(const EmaConfig& config, int64_t step);
EmaFormula average_formula(const EmaConfig& config, int64_t step);
// average += (1 - decay) (weights - average), for the `count` elements of a slice.
void update_average(const EmaFormula& formula, int64_t count, const float* weights, float* average);

}  // namespace spire

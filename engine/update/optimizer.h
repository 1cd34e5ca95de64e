// Updates slices (contiguous ranges) of the flat fp32 weights, and of their moving average, from
// the same slices of the averaged gradient. The bits do not depend on where slices begin and end.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/update/formulas.h"

namespace spire::inline update {

struct UpdateStep {
  float lr = 0.0f;
  int64_t step = 1;              // 1 for the first update; for Adam's bias correction
  float gradient_factor = 1.0f;  // GradientScale::factor
};

// Slice of `count` floats. Pointers lead to its first element; the arrays do not overlap.
struct UpdateSlice {
  int64_t count = 0;
  const float* gradients = nullptr;
  float* weights = nullptr;            // updated in place
  std::span<float* const> slots = {};  // optimizer state in the order of slots(); in place
  float decay = 1.0f;                  // factor of weight_decay: 0 for weights that do not decay
  float lr = 1.0f;                     // factor of the learning rate
  float trust_ratio = 1.0f;            // for layer-wise optimizers
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // Names of the state that each weight has: {"momentum"}, or {"m", "v"}.
  virtual std::vector<std::string> slots() const = 0;

  // Returns the formula of a step for one weight; SliceFactors, not it, has gradient_factor.
  virtual OptimizerFormula formula(const UpdateStep& step) const = 0;

  bool layerwise() const;  // true if a trust ratio scales each tensor's step (lars, lamb)
  // Returns the squares of a slice. Measure all slices of a tensor and add the results;
  // trust_ratio() of that sum is the trust_ratio of the slices in update(). May write the slots,
  // but not the weights. If not layerwise(), it does nothing and the ratio is 1.
  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const;
  float trust_ratio(const TrustSquares& tensor, float decay) const;  // UpdateSlice::decay

  // Applies the formula on the CPU. Threads may call it and measure() for disjoint slices.
  void update(const UpdateStep& step, const UpdateSlice& slice) const {
    update(formula(step), step.gradient_factor, slice);
  }
  // The same with the step's formula, made once for many slices.
  static void update(const OptimizerFormula& formula, float gradient_factor,
                     const UpdateSlice& slice);
};

// Throws Error(config) for an unknown name.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

// Exponential moving average of the weights, for evaluation, after Polyak & Juditsky 1992.
class Ema {
 public:
  explicit Ema(const EmaConfig& config) : config_(config) {}
  bool on() const { return config_.decay > 0; }

  // Returns the decay at update `step` = 1, 2, ...; with warmup at most (1 + step) / (10 + step).
  double decay(int64_t step) const;

  EmaFormula formula(int64_t step) const { return {static_cast<float>(1 - decay(step))}; }

  // average += (1 - decay(step)) (weights - average), for the `count` elements of a slice.
  void update(int64_t step, int64_t count, const float* weights, float* average) const;

 private:
  EmaConfig config_;
};

}  // namespace spire::inline update

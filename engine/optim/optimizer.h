// Updates slices of the flat fp32 weights, and of their moving average, from the same slices of the
// averaged gradient. Any cut of the buffer into slices gives the same bits.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/optim/formulas.h"

namespace spire::inline optim {

struct UpdateStep {
  float lr = 0.0f;
  int64_t step = 1;              // 1 for the first update: Adam's bias correction
  float gradient_factor = 1.0f;  // GradientScale::factor
};

// A slice of `count` floats. Pointers are to its first element and do not overlap.
struct UpdateSlice {
  int64_t count = 0;
  const float* gradients = nullptr;
  float* weights = nullptr;            // updated in place
  std::span<float* const> slots = {};  // optimizer state, in the order of slots(); in place
  float decay = 1.0f;                  // factor of weight_decay: 0 for weights that do not decay
  float trust_ratio = 1.0f;            // of layer-wise optimizers
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::vector<std::string> slots() const = 0;  // "momentum"; "m", "v"

  // The step's formula for one weight, without gradient_factor, which SliceFactors has.
  virtual OptimizerFormula formula(const UpdateStep& step) const = 0;

  bool layerwise() const;  // a trust ratio scales each tensor's step
  // Measures a slice: all slices of a tensor before update(), which takes trust_ratio() of their
  // sum. It may write the slots, not the weights. Not layer-wise: measures nothing, and the ratio
  // is 1.
  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const;
  float trust_ratio(const TrustSquares& tensor, float decay) const;  // decay: of the slices

  // Applies the formula on the CPU. Thread-safe on disjoint slices, as measure() is.
  void update(const UpdateStep& step, const UpdateSlice& slice) const;
};

// Throws Error(config) for an unknown name.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

// Exponential moving average of the weights, for evaluation. Polyak & Juditsky 1992, with a decay.
class Ema {
 public:
  explicit Ema(const EmaConfig& config) : config_(config) {}
  bool on() const { return config_.decay > 0; }

  // The decay after update `step`, from 1 on; with warm-up at most (1 + step) / (10 + step).
  double decay(int64_t step) const;

  EmaFormula formula(int64_t step) const { return {static_cast<float>(1 - decay(step))}; }

  // average += (1 - decay(step)) (weights - average), for `count` elements of a slice.
  void update(int64_t step, int64_t count, const float* weights, float* average) const;

 private:
  EmaConfig config_;
};

}  // namespace spire::inline optim

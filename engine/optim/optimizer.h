// Updates slices of the flat fp32 weights from the same slices of the averaged gradient. An update
// is a pure function of its slice, so any cut of the buffer into slices gives the same bits.
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

// A slice of `count` floats: each pointer is to its first element; they do not overlap.
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

  // The step's formula for one weight. It leaves out gradient_factor, which SliceFactors has.
  virtual OptimizerFormula formula(const UpdateStep& step) const = 0;

  // Whether a trust ratio scales each tensor's step. Then measure() runs on all slices of a tensor
  // before update(): it may write the slots, not the weights, and returns the slice's squares.
  // trust_ratio() of their sum over the tensor goes into the slices of update(); its `decay` is
  // that of the slices. Other optimizers measure nothing, and their ratio is 1.
  bool layerwise() const;
  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const;
  float trust_ratio(const TrustSquares& tensor, float decay) const;

  // Applies the formula on the CPU. Thread-safe on disjoint slices, as measure() is.
  void update(const UpdateStep& step, const UpdateSlice& slice) const;
};

// The optimizer that config.name says, with its rates.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace spire::inline optim

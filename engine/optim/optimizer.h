// Optimizers update a slice of the flat fp32 weights from the same slice of the averaged gradient.
// They are pure functions of the slice, so any cut of the buffer into slices gives the same bits.
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

  // What the step does to a weight. Of the step, the gradient_factor is not in it.
  virtual OptimizerFormula formula(const UpdateStep& step) const = 0;

  // Layer-wise optimizers scale each tensor's step by a trust ratio. In each step measure() runs on
  // all slices of a tensor first: it leaves the weights alone, may write the slots, and returns the
  // slice's squares. trust_ratio() of their sum over the tensor then goes into update()'s slices.
  // decay: as in the tensor's slices. Others measure nothing, and their ratio is 1.
  bool layerwise() const;
  TrustSquares measure(const UpdateStep& step, const UpdateSlice& slice) const;
  float trust_ratio(const TrustSquares& tensor, float decay) const;

  // A CPU's loop of the formula. Thread-safe on disjoint slices, as measure() is.
  void update(const UpdateStep& step, const UpdateSlice& slice) const;
};

// sgd, adam, adamw, lars or lamb; throws Error(config) for another name, listing the known ones.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

// sgd: g += weight_decay w; v = momentum v + g; w -= lr (nesterov ? g + momentum v : v).
// Sutskever et al., "On the importance of initialization and momentum", ICML 2013, in PyTorch's
// form.
std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config);

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= lr m^ / (sqrt(v^) + epsilon).
// adam: g += weight_decay w (Kingma & Ba 2015); adamw: w -= lr weight_decay w first (Loshchilov &
// Hutter 2019).
std::unique_ptr<Optimizer> make_adam(const OptimizerConfig& config, bool decoupled_decay);

// v = momentum v + ratio (g + weight_decay w); w -= lr v, with ratio = trust_coefficient |w| / (|g|
// + weight_decay |w|) over the tensor. You et al., "Large batch training of convolutional
// networks", 2017, with the rate outside the momentum, as in sgd here.
std::unique_ptr<Optimizer> make_lars(const OptimizerConfig& config);

// u = m^ / (sqrt(v^) + epsilon) + weight_decay w with adam's m and v; w -= lr ratio u, with ratio =
// |w| / |u| over the tensor. You et al., "Large batch optimization for deep learning", ICLR 2020.
// Both ratios are 1 where a norm is 0, and for tensors that are no matrices.
std::unique_ptr<Optimizer> make_lamb(const OptimizerConfig& config);

}  // namespace spire::inline optim

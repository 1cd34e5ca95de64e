// Optimizers update a slice of the flat fp32 weights from the same slice of the averaged gradient.
// They are pure functions of the slice, so any cut of the buffer into slices gives the same bits.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/config/run_config.h>

namespace spire {

struct UpdateStep {
  float lr = 0.0f;
  int64_t step = 1;              // 1 for the first update: Adam's bias correction
  float gradient_factor = 1.0f;  // of global-norm clipping
};

// A slice of `count` floats: each pointer is to its first element; they do not overlap.
struct UpdateSlice {
  int64_t count = 0;
  const float* gradients = nullptr;
  float* weights = nullptr;            // updated in place
  std::span<float* const> slots = {};  // optimizer state, in the order of slots(); in place
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual std::vector<std::string> slots() const = 0;  // "momentum"; "m", "v"
  // Thread-safe on disjoint slices.
  virtual void update(const UpdateStep& step, const UpdateSlice& slice) const = 0;
};

// sgd, adam or adamw; throws Error(config) for another name, listing the known ones.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

// sgd: g += weight_decay w; v = momentum v + g; w -= lr (nesterov ? g + momentum v : v).
// Sutskever et al., "On the importance of initialization and momentum", ICML 2013, in PyTorch's
// form.
std::unique_ptr<Optimizer> make_sgd(const OptimizerConfig& config);

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; w -= lr m^ / (sqrt(v^) + epsilon).
// adam: g += weight_decay w (Kingma & Ba 2015); adamw: w -= lr weight_decay w first (Loshchilov &
// Hutter 2019).
std::unique_ptr<Optimizer> make_adam(const OptimizerConfig& config, bool decoupled_decay);

// Factor that brings a gradient of this global norm to at most `clip_norm`; 1 when clip_norm is 0.
float clip_factor(double norm, double clip_norm);

}  // namespace spire

// Optimizers of a program, in place of those of the config.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <spire/export.h>

namespace spire {

// A contiguous range of `count` weights that have equal factors. The arrays do not overlap.
struct OptimizerSlice {
  int64_t count = 0;
  // The gradient of weight i is gradient_factor * gradients[i]: averaged over the global batch, and
  // clipped as optimizer.clip_norm says.
  const float* gradients = nullptr;
  float gradient_factor = 1.0f;
  float* weights = nullptr;
  std::span<float* const> state = {};  // one array of `count` floats for each name of state()
  float lr = 0.0f;            // of the step, times the factor that optimizer.lr_factors gives
  float weight_decay = 0.0f;  // optimizer.weight_decay, times its factor; 0: these do not decay
  int64_t step = 1;           // of the optimizer, from 1 on; skipped steps do not count
};

// Set OptimizerConfig::own to it: of the config's members lr, lr_factors, weight_decay, decay,
// decay_factors and clip_norm then count. It computes on CPUs; the weights of GPUs it updates on
// the host, with parameter_device: cpu. The trained model has the same bits on any devices if
// update() treats each weight for itself.
class SPIRE_API Optimizer {
 public:
  virtual ~Optimizer();
  // Names of the numbers that it keeps for each weight, 4 at most: 0 before the first step.
  // Checkpoints contain them; a run without this optimizer cannot be resumed from these.
  virtual std::vector<std::string> state() const { return {}; }
  // Updates the weights and their state. Called by several threads at once for different slices,
  // in any order; where one begins and ends depends on the devices.
  virtual void update(const OptimizerSlice& slice) const = 0;
};

}  // namespace spire

// Exponential moving average of the weights, which is less noisy than the weights; evaluation uses
// it when it is on. Polyak & Juditsky 1992, in the form with a decay.
#pragma once
#include <cstdint>

#include <spire/run_config.h>

#include "engine/base/host_device.h"

namespace spire::inline optim {

// The update of one weight's average.
struct EmaFormula {
  float share;  // 1 - decay

  SPIRE_HOST_DEVICE void update(float weight, float& average) const {
    average += share * (weight - average);
  }
};

class Ema {
 public:
  explicit Ema(const EmaConfig& config) : config_(config) {}
  bool on() const { return config_.decay > 0; }

  // The decay after update `step`, which counts from 1. With warm-up min(decay, (1 + step) / (10 +
  // step)), so that the first weights are soon forgotten.
  double decay(int64_t step) const;

  EmaFormula formula(int64_t step) const { return {static_cast<float>(1 - decay(step))}; }

  // average += (1 - decay(step)) (weights - average), for `count` elements of a slice.
  void update(int64_t step, int64_t count, const float* weights, float* average) const;

 private:
  EmaConfig config_;
};

}  // namespace spire::inline optim

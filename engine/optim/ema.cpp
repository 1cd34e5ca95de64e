#include "engine/optim/ema.h"

#include <algorithm>

namespace spire::inline optim {

double Ema::decay(int64_t step) const {
  if (!config_.warmup) return config_.decay;
  auto t = static_cast<double>(step);
  return std::min(config_.decay, (1 + t) / (10 + t));
}

void Ema::update(int64_t step, int64_t count, const float* __restrict weights,
                 float* __restrict average) const {
  const EmaFormula average_of = formula(step);
  for (int64_t i = 0; i < count; ++i) average_of.update(weights[i], average[i]);
}

}  // namespace spire::inline optim

// The share of an element in the mean over a sample's elements.
#pragma once
#include <algorithm>
#include <cstdint>

#include <spire/op.h>

namespace spire::inline kernels {

// Returns N / elements for an input (N, ...): 1 / F, also for no rows.
inline double sample_share(const TensorSpec& spec) {
  return static_cast<double>(std::max<int64_t>(spec.shape[0], 1)) /
         static_cast<double>(std::max<int64_t>(spec.shape.elements(), 1));
}

}  // namespace spire::inline kernels

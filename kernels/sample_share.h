// The share of an element in the mean over a sample's elements.
#pragma once
#include <cstdint>

#include <spire/op.h>

namespace spire {

// Returns N / elements for an input (N, ...): 1 / F, also for no rows.
inline double sample_share(const TensorSpec& spec) {
  int64_t rows = spec.shape[0], elements = spec.shape.elements();
  return static_cast<double>(rows > 1 ? rows : 1) /
         static_cast<double>(elements > 1 ? elements : 1);
}

}  // namespace spire

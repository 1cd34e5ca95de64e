// A CPU's loops of optimizers' formulas over slices. They vectorise: the compiler sees that nothing
// overlaps, and formulas are copies whose fields no store can change.
#pragma once
#include "engine/optim/optimizer.h"

namespace spire::inline optim {

// body(gradient, weight, slot...) for each element: the last ones by reference.
template <int slots, typename Body>
void for_weights(const UpdateSlice& slice, const Body body) {
  static_assert(slots <= 2);
  const float* __restrict g = slice.gradients;
  float* __restrict w = slice.weights;
  const int64_t count = slice.count;
  if constexpr (slots == 0) {
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i]);
  } else if constexpr (slots == 1) {
    float* __restrict a = slice.slots[0];
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i], a[i]);
  } else {
    float* __restrict a = slice.slots[0];
    float* __restrict b = slice.slots[1];
    for (int64_t i = 0; i < count; ++i) body(g[i], w[i], a[i], b[i]);
  }
}

template <typename Formula>
void update_slice(const Formula formula, const SliceFactors at, const UpdateSlice& slice) {
  for_weights<Formula::slots>(
      slice, [=](float g, float& w, auto&... slot) { formula.update(at, g, w, slot...); });
}

template <typename Formula>
TrustSquares measure_slice(const Formula formula, const SliceFactors at, const UpdateSlice& slice) {
  for_weights<Formula::slots>(
      slice, [=](float g, float& w, auto&... slot) { formula.prepare(at, g, w, slot...); });
  const float* __restrict g = slice.gradients;
  const float* __restrict w = slice.weights;
  const float* __restrict a = slice.slots[0];
  const float* __restrict b = slice.slots[Formula::slots - 1];
  return sum_trust_squares(
      slice.count, [=](int64_t i) { return w[i]; },
      [=](int64_t i) {
        if constexpr (Formula::slots == 1) return formula.measured(at, g[i], w[i], a[i]);
        if constexpr (Formula::slots == 2) return formula.measured(at, g[i], w[i], a[i], b[i]);
      });
}

}  // namespace spire::inline optim

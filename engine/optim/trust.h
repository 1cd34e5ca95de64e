// What layer-wise optimizers (lars, lamb) share: a tensor's step is scaled by a trust ratio of two
// norms over the whole tensor. Their squares are summed in fp64 over slices, in a fixed order.
#pragma once
#include <cstdint>

namespace spire::inline optim {

// Of a slice, or added up over a tensor.
struct TrustSquares {
  double weights = 0;
  double update = 0;  // lars: of the gradient; lamb: of the step before the ratio
};

// Calls weight(i) and update(i) for i in [0, count) and sums their squares: sixteen interleaved
// partial sums each, added up in order, whatever the instruction set.
template <typename Weight, typename Update>
TrustSquares sum_trust_squares(int64_t count, Weight&& weight, Update&& update) {
  constexpr int64_t width = 16;
  double weights[width] = {}, updates[width] = {};
  auto add = [&](int64_t i, int64_t lane) {
    double w = weight(i), u = update(i);
    weights[lane] += w * w;
    updates[lane] += u * u;
  };
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    for (int64_t lane = 0; lane < width; ++lane) add(i + lane, lane);
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) add(i, lane);
  TrustSquares sum;
  for (int64_t lane = 0; lane < width; ++lane) {
    sum.weights += weights[lane];
    sum.update += updates[lane];
  }
  return sum;
}

}  // namespace spire::inline optim

// The line that a linear model of PointData has learned, and a step of it in fp64.
#pragma once
#include <array>
#include <cstdint>

#include "tests/run/api/point_data.h"

namespace spire {

// Weights 0..2 and the bias, in fp64.
using Line = std::array<double, 4>;

inline Line line_of(Trainer& trainer) {
  std::array<float, 3> weight{};
  std::array<float, 1> bias{};
  trainer.read_weight("dense.weight", weight);
  trainer.read_weight("dense.bias", bias);
  return {weight[0], weight[1], weight[2], bias[0]};
}

inline double predict(const Line& line, const float* x) {
  return line[0] * x[0] + line[1] * x[1] + line[2] * x[2] + line[3];
}

// loss = mean (p - v)^2, so the gradient is mean 2 (p - v) (x, 1).
inline Line after_step(const Line& line, const PointData& data, int64_t first, int64_t rows,
                       double lr) {
  Line next = line;
  for (int64_t i = first; i < first + rows; ++i) {
    const float* x = data.features.data() + 3 * i;
    double d = 2 * (predict(line, x) - data.values[static_cast<size_t>(i)]);
    for (size_t f = 0; f < 3; ++f) next[f] -= lr * d * x[f] / static_cast<double>(rows);
    next[3] -= lr * d / static_cast<double>(rows);
  }
  return next;
}

}  // namespace spire

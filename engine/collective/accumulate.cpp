#include "engine/collective/accumulate.h"

namespace spire::inline collective {

void add_floats(float* __restrict into, const float* __restrict from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) into[i] += from[i];
}

double sum_of_squares(const float* values, int64_t count) {
  constexpr int64_t width = 16;
  double partial[width] = {};
  int64_t i = 0;
  for (; i + width <= count; i += width) {
    for (int64_t lane = 0; lane < width; ++lane) {
      double value = values[i + lane];
      partial[lane] += value * value;
    }
  }
  for (int64_t lane = 0; i < count; ++i, ++lane) partial[lane] += double{values[i]} * values[i];
  double sum = 0;
  for (double part : partial) sum += part;
  return sum;
}

}  // namespace spire::inline collective

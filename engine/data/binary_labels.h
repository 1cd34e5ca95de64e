// Values that are labels, as loss.name: binary takes them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

#include <spire/error.h>

namespace spire::inline data {

// Throws Error(data) unless each value of a sample is 0 or 1. where: names the sample.
template <typename Where>
void require_binary(const float* values, int64_t count, const Where& where) {
  const float* end = values + count;
  const float* wrong = std::find_if(values, end, [](float x) { return x != 0 && x != 1; });
  if (wrong == end) return;
  fail(
      Category::data,
      "{}: value {} is {}, but with loss.name: binary values are labels, 0 or 1; of -1 and 1 store "
      "(y + 1) / 2, of probabilities y >= 0.5, or use loss.name: mse",
      where(), wrong - values, *wrong);
}

}  // namespace spire::inline data

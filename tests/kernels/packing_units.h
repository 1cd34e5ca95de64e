// Checks that each unit of a packing reads its own plain weights alone: packed anew after all other
// weights have changed, it is what it was.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include <spire/packing.h>

#include "kernels/kernel.h"

namespace spire::testing {

// elements: of the plain weights. Returns how many units were checked, none if packing.unit_floats
// is 0.
inline int64_t expect_units_read_their_own(const Packing& packing, int64_t elements) {
  if (packing.unit_floats == 0) return 0;
  std::vector<float> plain(static_cast<size_t>(elements));
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i) - 100.5f;
  std::vector<char> want(packing.bytes);
  packing.pack(plain.data(), want.data());
  for (int64_t unit = 0; unit < packing.units; ++unit) {
    std::vector<float> others(plain.size(), 7.0f);
    int64_t begin = unit * packing.unit_floats;
    int64_t end = std::min(elements, begin + packing.unit_floats);
    std::copy(plain.begin() + begin, plain.begin() + end, others.begin() + begin);
    std::vector<char> got = want;
    packing.pack_units(others.data(), got.data(), unit, unit + 1, nullptr);
    EXPECT_EQ(got, want) << packing.form << ", unit " << unit;
  }
  return packing.units;
}

}  // namespace spire::testing

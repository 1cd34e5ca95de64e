#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "engine/update/optimizer.h"

namespace spire {
namespace {

TEST(Ema, WarmUpRaisesTheDecay) {
  EmaConfig plain{.decay = 0.9}, warm{.decay = 0.9, .warmup = true};
  EXPECT_EQ(average_decay(plain, 1), 0.9);
  EXPECT_DOUBLE_EQ(average_decay(warm, 1), 2.0 / 11);
  EXPECT_DOUBLE_EQ(average_decay(warm, 40), 41.0 / 50);
  EXPECT_EQ(average_decay(warm, 80), 0.9);  // 81 / 90
  EXPECT_EQ(average_decay(warm, 100000), 0.9);
}

// The average approaches constant weights as decay^t; slices give the same bits as the whole.
TEST(Ema, ApproachesConstantWeightsGeometrically) {
  constexpr int64_t n = 37;
  std::vector<float> weights(n), whole(n, 0.0f), sliced(n, 0.0f);
  for (size_t i = 0; i < n; ++i) weights[i] = 1.0f + static_cast<float>(i);
  for (int64_t step = 1; step <= 30; ++step) {
    EmaFormula ema = average_formula({.decay = 0.75}, step);
    update_average(ema, n, weights.data(), whole.data());
    update_average(ema, 5, weights.data(), sliced.data());
    update_average(ema, n - 5, weights.data() + 5, sliced.data() + 5);
    for (size_t i = 0; i < n; ++i) {
      double expected = weights[i] * (1 - std::pow(0.75, step));
      ASSERT_NEAR(whole[i], expected, 1e-6 * weights[i]) << step;
    }
  }
  EXPECT_EQ(whole, sliced);
}

}  // namespace
}  // namespace spire

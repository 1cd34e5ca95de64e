// Tests optimizers against closed forms and float64 transcriptions of the published rules.
#include "engine/update/optimizer.h"

#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/base/fail.h"
#include "engine/config/words.h"
#include "tests/update/update_reference.h"

namespace spire {
namespace {

constexpr size_t n = 37;  // no multiple of a vector

struct Buffers {
  std::vector<float> gradients, weights;
  std::vector<std::vector<float>> slots;
};

Buffers random_buffers(size_t slots) {
  RandomStream random(3, Purpose::initialize);
  Buffers buffers{std::vector<float>(n), std::vector<float>(n), {}};
  buffers.slots.assign(slots, std::vector<float>(n, 0.0f));
  for (size_t i = 0; i < n; ++i) {
    buffers.gradients[i] = random.uniform(2 * i) - 0.5f;
    buffers.weights[i] = random.uniform(2 * i + 1) - 0.5f;
  }
  return buffers;
}

// Elements [begin, end) of the buffers.
struct Slice {
  Slice(Buffers& b, size_t begin, size_t end) {
    for (auto& slot : b.slots) slots.push_back(slot.data() + begin);
    slice = {.count = static_cast<int64_t>(end - begin),
             .gradients = b.gradients.data() + begin,
             .weights = b.weights.data() + begin,
             .slots = slots};
  }
  std::vector<float*> slots;
  UpdateSlice slice;
};

// Updates the whole buffer as one tensor. Returns its trust ratio.
float update_tensor(const OptimizerFormula& formula, Buffers& b, float gradient_factor = 1) {
  Slice all(b, 0, n);
  SliceFactors at{.gradient = gradient_factor};
  at.trust = trust_ratio(formula, measure_slice(formula, at, all.slice), at.decay);
  update_slice(formula, at, all.slice);
  return at.trust;
}

// All weights as one tensor.
const std::vector<WeightSpan> whole_tensor = {{.range = {0, n}, .adapts = true}};

class OptimizerRule : public testing::TestWithParam<OptimizerConfig> {};

TEST_P(OptimizerRule, FollowsTheFloat64Reference) {
  OptimizerConfig config = GetParam();
  Buffers buffers = random_buffers(slot_names(config).size());
  OptimizerReference reference(config, buffers.weights);
  std::vector<double> g;
  for (float gradient : buffers.gradients) g.push_back(0.5 * gradient);
  for (int step = 1; step <= 20; ++step) {
    double lr = 0.01 * step;
    update_tensor(formula_of(config, static_cast<float>(lr), step), buffers, 0.5f);
    reference.step(whole_tensor, g, lr);
    for (size_t i = 0; i < n; ++i) {
      double w = reference.weights()[i];
      ASSERT_NEAR(buffers.weights[i], w, 2e-6 * step * (1 + std::abs(w))) << "step " << step;
    }
  }
}

// At constants where 1 - beta of fp32 is percents off, or 0, and where weight decay is close to the
// weights' own rounding. The distance that weights go is compared, not the weights.
void expect_float64_distances(const OptimizerConfig& config, double lr, int steps) {
  Buffers buffers = random_buffers(slot_names(config).size());
  std::vector<float> first = buffers.weights;
  OptimizerReference reference(config, buffers.weights);
  float rate = static_cast<float>(lr);
  RandomStream random(4, Purpose::initialize);
  std::vector<float> mean = buffers.gradients;
  std::vector<double> g(n);
  for (int step = 1; step <= steps; ++step) {
    for (size_t i = 0; i < n; ++i) {
      float noise = random.uniform(static_cast<uint64_t>(step) * n + i) - 0.5f;
      g[i] = buffers.gradients[i] = mean[i] + 0.2f * noise;
    }
    update_tensor(formula_of(config, rate, step), buffers);
    reference.step(whole_tensor, g, double{rate});
  }
  double rounding = steps * 0x1p-24;
  for (size_t i = 0; i < n; ++i) {
    double w = reference.weights()[i], distance = w - first[i];
    EXPECT_NEAR(buffers.weights[i] - first[i], distance,
                2e-4 * std::abs(distance) + rounding * (1 + std::abs(w)))
        << i;
  }
}

TEST(Optimizer, FollowsTheFloat64RecurrenceAtExtremeConstants) {
  using Name = OptimizerConfig::Name;
  for (Name name : {Name::adam, Name::adamw, Name::lamb}) {
    for (double beta1 : {0.0, 0.9, 0.999999}) {
      for (double beta2 : {0.0, 0.999, 0.999999, 1 - 1e-8}) {
        for (double epsilon : {1e-8, 1e-300, 1.0}) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", word_of(name), beta1, beta2, epsilon));
          expect_float64_distances({.name = name,
                                    .weight_decay = 1e-3,
                                    .beta1 = beta1,
                                    .beta2 = beta2,
                                    .epsilon = epsilon},
                                   5e-3, 300);
        }
      }
    }
  }
  for (Name name : {Name::sgd, Name::lars}) {
    for (double momentum : {0.0, 0.9, 0.999999, 1 - 1e-8}) {
      for (bool nesterov : {false, true}) {
        if (nesterov && name == Name::lars) continue;
        SCOPED_TRACE(fmt::format("{} {} {}", word_of(name), momentum, nesterov));
        expect_float64_distances({.name = name,
                                  .momentum = momentum,
                                  .nesterov = nesterov,
                                  .weight_decay = 1e-6,
                                  .trust_coefficient = 1},
                                 name == Name::sgd ? 1e-3 : 1e-4, 300);
      }
    }
  }
}

// A gradient of 0 moves nothing, however small epsilon is.
TEST(Optimizer, AnEpsilonBelowFp32IsNotZero) {
  Buffers buffers = random_buffers(2);
  buffers.gradients.assign(n, 0.0f);
  std::vector<float> weights = buffers.weights;
  update_tensor(formula_of({.name = OptimizerConfig::Name::adam, .epsilon = 1e-60}, 0.1f, 1),
                buffers);
  EXPECT_EQ(buffers.weights, weights);
}

// The square of a gradient may leave fp32 though the gradient passes the guard.
TEST(Optimizer, TheSquareOfAHugeGradientLeavesFiniteWeights) {
  using Name = OptimizerConfig::Name;
  for (Name name : {Name::adam, Name::adamw, Name::lamb}) {
    Buffers buffers = random_buffers(2);
    std::vector<float> first = buffers.weights;
    int step = 0;
    for (float gradient : {6e20f, 1.0f, 1.0f}) {
      buffers.gradients.assign(n, gradient);
      update_tensor(formula_of({.name = name}, 0.1f, ++step), buffers);
      for (size_t i = 0; i < n; ++i) {
        EXPECT_TRUE(std::isfinite(buffers.weights[i])) << word_of(name) << " step " << step;
        EXPECT_TRUE(std::isfinite(buffers.slots[1][i])) << word_of(name) << " step " << step;
      }
    }
    EXPECT_NE(buffers.weights, first);
  }
}

// Slices give the same bits as the whole, given the trust ratio of the whole.
TEST_P(OptimizerRule, SlicesGiveTheSameBitsAsTheWhole) {
  Buffers whole = random_buffers(slot_names(GetParam()).size()), sliced = whole;
  constexpr std::array<std::pair<size_t, size_t>, 4> cuts = {{{0, 5}, {5, 6}, {6, 30}, {30, 37}}};
  for (int step = 1; step <= 5; ++step) {
    OptimizerFormula formula = formula_of(GetParam(), 0.1f, step);
    float ratio = update_tensor(formula, whole);
    for (auto [begin, end] : cuts) {
      Slice part(sliced, begin, end);
      measure_slice(formula, {}, part.slice);
      update_slice(formula, {.trust = ratio}, part.slice);
    }
    ASSERT_EQ(whole.weights, sliced.weights);
    ASSERT_EQ(whole.slots, sliced.slots);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerRule,
    testing::Values(
        OptimizerConfig{.name = OptimizerConfig::Name::sgd, .momentum = 0.0, .weight_decay = 0.1},
        OptimizerConfig{.name = OptimizerConfig::Name::sgd, .momentum = 0.9, .weight_decay = 0.01},
        OptimizerConfig{.name = OptimizerConfig::Name::sgd, .momentum = 0.9, .nesterov = true},
        OptimizerConfig{.name = OptimizerConfig::Name::adam, .weight_decay = 0.1},
        OptimizerConfig{.name = OptimizerConfig::Name::adamw, .weight_decay = 0.1},
        OptimizerConfig{
            .name = OptimizerConfig::Name::lars, .weight_decay = 0.1, .trust_coefficient = 0.5},
        OptimizerConfig{.name = OptimizerConfig::Name::lamb, .weight_decay = 0.1}),
    [](const auto& test) {
      return std::string(word_of(test.param.name)) + (test.param.momentum == 0 ? "_plain" : "") +
             (test.param.nesterov ? "_nesterov" : "");
    });

TEST(Optimizer, TheTrustRatioIsThatOfThePapers) {
  using Name = OptimizerConfig::Name;
  OptimizerFormula lars =
      formula_of({.name = Name::lars, .weight_decay = 0.5, .trust_coefficient = 0.01}, 0.1f, 1);
  EXPECT_FLOAT_EQ(trust_ratio(lars, {.weights = 16, .update = 9}, 1.0f),
                  0.01f * 4 / (3 + 0.5f * 4));
  EXPECT_FLOAT_EQ(trust_ratio(lars, {.weights = 16, .update = 9}, 0.0f), 0.01f * 4 / 3);
  OptimizerFormula lamb = formula_of({.name = Name::lamb}, 0.1f, 1);
  EXPECT_FLOAT_EQ(trust_ratio(lamb, {.weights = 16, .update = 9}, 1.0f), 4.0f / 3);
  for (const OptimizerFormula& formula : {lars, lamb}) {
    EXPECT_EQ(trust_ratio(formula, {.weights = 0, .update = 9}, 1.0f), 1.0f);
    EXPECT_EQ(trust_ratio(formula, {.weights = 16, .update = 0}, 1.0f), 1.0f);
  }
}

TEST(Optimizer, MeasuresBothNormsOfWhatItUpdates) {
  for (const char* name : {"lars", "lamb"}) {
    OptimizerConfig config{
        .name = *find_word<OptimizerConfig::Name>(name), .beta1 = 0, .beta2 = 0, .epsilon = 1e-30};
    size_t slots = slot_names(config).size();
    Buffers buffers = random_buffers(slots);
    Slice all(buffers, 0, n);
    TrustSquares squares =
        measure_slice(formula_of(config, 0.0f, 1), {.gradient = 0.5f}, all.slice);
    double weights = 0, gradients = 0;
    for (size_t i = 0; i < n; ++i) {
      weights += double{buffers.weights[i]} * buffers.weights[i];
      gradients += 0.25 * buffers.gradients[i] * buffers.gradients[i];
    }
    EXPECT_NEAR(squares.weights, weights, 1e-12);
    // In the first step lamb's direction is the gradient's sign.
    EXPECT_NEAR(squares.update, slots == 2 ? double{n} : gradients, 1e-5);
  }
}

TEST(Optimizer, RefusesANumberThatIsNoName) {
  EXPECT_THROW(formula_of({.name = static_cast<OptimizerConfig::Name>(5)}, 0.1f, 1), Error);
}

TEST(Optimizer, ClippingScalesToTheNormAndNeverUp) {
  EXPECT_EQ(clip_factor(10, 2), 0.2f);
  EXPECT_EQ(clip_factor(1, 2), 1.0f);
  EXPECT_EQ(clip_factor(10, 0), 1.0f);
}

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

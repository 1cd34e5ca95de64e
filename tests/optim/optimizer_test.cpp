// Closed forms and float64 transcriptions of the published update rules.
#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/base/philox.h>
#include <spire/optim/optimizer.h>

#include <cmath>

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

// Updates elements [begin, end).
void update(const Optimizer& optimizer, Buffers& b, const UpdateStep& step, size_t begin,
            size_t end) {
  std::vector<float*> slots;
  for (auto& slot : b.slots) slots.push_back(slot.data() + begin);
  optimizer.update(step, {static_cast<int64_t>(end - begin), b.gradients.data() + begin,
                          b.weights.data() + begin, slots});
}

struct Reference {  // one element, in double
  double w, v = 0, m = 0;
};

double sgd(Reference& r, double g, const OptimizerConfig& c, double lr) {
  g += c.weight_decay * r.w;
  r.v = c.momentum * r.v + g;
  return r.w -= lr * (c.nesterov ? g + c.momentum * r.v : r.v);
}

double adam(Reference& r, double g, const OptimizerConfig& c, double lr, int step, bool decoupled) {
  if (decoupled)
    r.w -= lr * c.weight_decay * r.w;
  else
    g += c.weight_decay * r.w;
  r.m = c.beta1 * r.m + (1 - c.beta1) * g;
  r.v = c.beta2 * r.v + (1 - c.beta2) * g * g;
  double m = r.m / (1 - std::pow(c.beta1, step)), v = r.v / (1 - std::pow(c.beta2, step));
  return r.w -= lr * m / (std::sqrt(v) + c.epsilon);
}

class OptimizerRule : public testing::TestWithParam<OptimizerConfig> {};

TEST_P(OptimizerRule, FollowsTheFloat64Reference) {
  OptimizerConfig config = GetParam();
  auto optimizer = make_optimizer(config);
  Buffers buffers = random_buffers(optimizer->slots().size());
  std::vector<Reference> reference;
  for (float w : buffers.weights) reference.push_back({w});
  for (int step = 1; step <= 20; ++step) {
    double lr = 0.01 * step;
    update(*optimizer, buffers, {static_cast<float>(lr), step, 0.5f}, 0, n);
    for (size_t i = 0; i < n; ++i) {
      double g = 0.5 * buffers.gradients[i];
      double w = config.name == "sgd"
                     ? sgd(reference[i], g, config, lr)
                     : adam(reference[i], g, config, lr, step, config.name == "adamw");
      ASSERT_NEAR(buffers.weights[i], w, 2e-6 * step * (1 + std::abs(w))) << "step " << step;
    }
  }
}

TEST_P(OptimizerRule, SlicesGiveTheSameBitsAsTheWhole) {
  auto optimizer = make_optimizer(GetParam());
  Buffers whole = random_buffers(optimizer->slots().size()), sliced = whole;
  for (int step = 1; step <= 5; ++step) {
    UpdateStep s{0.1f, step, 1.0f};
    update(*optimizer, whole, s, 0, n);
    for (auto [begin, end] : {std::pair{0, 5}, {5, 6}, {6, 30}, {30, 37}})
      update(*optimizer, sliced, s, static_cast<size_t>(begin), static_cast<size_t>(end));
    ASSERT_EQ(whole.weights, sliced.weights);
    ASSERT_EQ(whole.slots, sliced.slots);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OptimizerRule,
    testing::Values(OptimizerConfig{.name = "sgd", .momentum = 0.0, .weight_decay = 0.1},
                    OptimizerConfig{.name = "sgd", .momentum = 0.9, .weight_decay = 0.01},
                    OptimizerConfig{.name = "sgd", .momentum = 0.9, .nesterov = true},
                    OptimizerConfig{.name = "adam", .weight_decay = 0.1},
                    OptimizerConfig{.name = "adamw", .weight_decay = 0.1}),
    [](const auto& test) {
      return test.param.name + (test.param.momentum == 0 ? "_plain" : "") +
             (test.param.nesterov ? "_nesterov" : "");
    });

TEST(Optimizer, UnknownNameListsTheKnown) {
  try {
    make_optimizer({.name = "sgdd"});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "unknown optimizer 'sgdd'; known: sgd, adam, adamw");
  }
}

TEST(Optimizer, ClippingScalesToTheNormAndNeverUp) {
  EXPECT_EQ(clip_factor(10, 2), 0.2f);
  EXPECT_EQ(clip_factor(1, 2), 1.0f);
  EXPECT_EQ(clip_factor(10, 0), 1.0f);
}

}  // namespace
}  // namespace spire

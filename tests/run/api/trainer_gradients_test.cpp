// Gradients that a program reads, changes or rejects between the parts of a Trainer's step.
#include <cmath>
#include <map>
#include <set>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

// A linear model's gradients by hand: the mean over samples of 2 (prediction - value) x, and of
// 2 (prediction - value).
TEST(TrainerGradients, AreThoseOfTheLoss) {
  PointData data(8);
  Trainer trainer(point_config(), data.spec());
  std::vector<float> weight(3), bias(1), outputs = trainer.predict(data.features.data(), 8);
  StepResult computed = trainer.compute_gradients(data.rows(0, 8));
  std::vector<double> by_hand(4);
  double loss = 0;
  for (size_t i = 0; i < 8; ++i) {
    double error = outputs[i] - data.values[i];
    loss += error * error / 8;
    for (size_t f = 0; f < 3; ++f) by_hand[f] += error * data.features[3 * i + f] / 4;
    by_hand[3] += error / 4;
  }
  EXPECT_NEAR(computed.loss, loss, 1e-6);
  EXPECT_EQ(computed.step, 1);
  EXPECT_EQ(trainer.steps_done(), 0);
  for (const WeightInfo& info : trainer.weights()) {
    std::span<float> gradient = trainer.gradient(info.name);
    bool is_weight = gradient.size() == 3;
    for (size_t f = 0; f < gradient.size(); ++f)
      EXPECT_NEAR(gradient[f], by_hand[is_weight ? f : 3], 1e-6) << info.name;
  }
  StepResult done = trainer.update();
  EXPECT_EQ(done.loss, computed.loss);
  EXPECT_EQ(done.lr, 0.1);
  EXPECT_EQ(trainer.steps_done(), 1);
}

// By value and by norm, as programs clip: the same as the optimizer's own.
TEST(TrainerGradients, AreClippedByHand) {
  PointData data(8);
  RunConfig config = point_config(), clips = config;
  clips.optimizer.clip_norm = 0.5;
  Trainer own(config, data.spec()), built_in(clips, data.spec());
  for (int step = 0; step < 5; ++step) {
    double norm = own.compute_gradients(data.rows(0, 8)).grad_norm, squares = 0;
    for (const WeightInfo& info : own.weights())
      for (float value : own.gradient(info.name)) squares += double{value} * value;
    EXPECT_NEAR(norm, std::sqrt(squares), 1e-6);
    for (const WeightInfo& info : own.weights())
      for (float& value : own.gradient(info.name)) value *= static_cast<float>(0.5 / norm);
    EXPECT_NEAR(own.update().grad_norm, 0.5, 1e-6);
    EXPECT_NEAR(built_in.step(data.rows(0, 8)).grad_norm, norm, 1e-5);
  }
}

TEST(TrainerGradients, OfTowersAddUp) {
  PointData data(16);
  RunConfig config = point_config({"2xcpu"});
  config.model = {.name = "mlp", .hidden = {16}};
  config.towers = 4;
  Trainer trainer(config, data.spec());
  std::map<std::string, std::vector<double>> sums;
  std::set<int> towers;
  trainer.compute_gradients(
      data.rows(0, 16), [&](int tower, const std::string& weight, std::span<const float> gradient) {
        towers.insert(tower);
        std::vector<double>& sum = sums[weight];
        sum.resize(gradient.size());
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
      });
  EXPECT_EQ(towers, (std::set<int>{0, 1, 2, 3}));
  for (const WeightInfo& info : trainer.weights()) {
    std::span<float> gradient = trainer.gradient(info.name);
    ASSERT_EQ(sums[info.name].size(), gradient.size()) << info.name;
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(gradient[i], sums[info.name][i], 1e-6) << info.name;
  }
  trainer.reject();
  Trainer fresh(config, data.spec());
  EXPECT_EQ(trainer.step(data.rows(0, 16)).loss, fresh.step(data.rows(0, 16)).loss);
  EXPECT_EQ(trainer.parameter_hash(), fresh.parameter_hash());
}

// A weight that two layers share has one gradient, the sum of both.
TEST(TrainerGradients, OfTowersAreWholeForSharedWeights) {
  std::vector<int32_t> tokens(16), targets(16);
  for (int i = 0; i < 16; ++i) tokens[i] = i % 7, targets[i] = (i + 1) % 7;
  RunConfig config = point_config();
  config.model = {.name = "llama",
                  .blocks = 1,
                  .width = 8,
                  .heads = 2,
                  .kv_heads = 1,
                  .mlp_width = 16,
                  .tied_head = true};
  config.batch_size = 2;
  SampleSpec spec;
  spec.columns = {{"tokens", {4}, DType::i32}, {"targets", {4}, DType::i32}};
  spec.classes = 7;
  Trainer trainer(config, spec);
  std::map<std::string, std::vector<double>> sums;
  trainer.compute_gradients({{tokens.data(), targets.data()}, 4},
                            [&](int, const std::string& weight, std::span<const float> gradient) {
                              std::vector<double>& sum = sums[weight];
                              sum.resize(gradient.size());
                              for (size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
                            });
  for (const WeightInfo& info : trainer.weights()) {
    std::span<float> gradient = trainer.gradient(info.name);
    ASSERT_EQ(sums[info.name].size(), gradient.size()) << info.name;
    for (size_t i = 0; i < gradient.size(); ++i)
      EXPECT_NEAR(gradient[i], sums[info.name][i], 1e-6) << info.name;
  }
}

// A span stays the gradient of its weight while batches are added.
TEST(TrainerGradients, SpansStayValidWhileBatchesAreAdded) {
  PointData data(16);
  Trainer trainer(point_config(), data.spec()), other(point_config(), data.spec());
  for (Trainer* each : {&trainer, &other}) each->compute_gradients(data.rows(0, 8));
  std::span<float> early = trainer.gradient("dense.weight");
  for (Trainer* each : {&trainer, &other}) each->compute_gradients(data.rows(8, 8));
  for (float& value : early) value = 0;
  for (float& value : other.gradient("dense.weight")) value = 0;
  for (Trainer* each : {&trainer, &other}) each->update();
  EXPECT_EQ(trainer.parameter_hash(), other.parameter_hash());
}

TEST(TrainerGradients, ACallbackOfFitEndsTheStepThatItBegins) {
  PointData data(16);
  Trainer trainer(point_config(), data.source());
  FitOptions extra{.steps = 2, .on_step = [&](const StepResult&) {
                     trainer.compute_gradients(data.rows(0, 8));
                     trainer.update();
                     return true;
                   }};
  trainer.fit(extra);
  EXPECT_GE(trainer.steps_done(), 2);
  extra.on_step = [&](const StepResult&) {
    trainer.compute_gradients(data.rows(0, 8));
    return true;
  };
  expect_error(Category::config, "fit(): gradients of step", [&] { trainer.fit(extra); });
  trainer.reject();
  trainer.fit({.steps = 1});
}

TEST(TrainerGradients, SeveralBatchesMakeOneStep) {
  PointData data(32);
  RunConfig four = point_config(), one = four;
  four.batch_size = 1;
  Trainer parts(four, data.spec()), whole(one, data.spec());
  for (int step = 0; step < 4; ++step) {
    StepResult result;
    for (int64_t first = 0; first < 8; first += 2)
      result = parts.compute_gradients(data.rows(8 * step + first, 2));
    EXPECT_EQ(result.samples, 8);
    StepResult updated = parts.update(), expected = whole.step(data.rows(8 * step, 8));
    EXPECT_EQ(updated.samples, 8);
    EXPECT_NEAR(updated.loss, expected.loss, 1e-6);
    EXPECT_NEAR(updated.grad_norm, expected.grad_norm, 1e-6);
    std::vector<float> mine(3), theirs(3);
    parts.read_weight("dense.weight", mine);
    whole.read_weight("dense.weight", theirs);
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(mine[i], theirs[i], 1e-6);
  }
  EXPECT_EQ(parts.steps_done(), 4);
}

TEST(TrainerGradients, ThatAreNotFiniteChangeNothing) {
  PointData data(8);
  Trainer trainer(point_config(), data.spec());
  uint64_t hash = trainer.parameter_hash();
  trainer.compute_gradients(data.rows(0, 8));
  trainer.gradient(trainer.weights()[0].name)[0] = NAN;
  expect_error(Category::diverged, "step 1: the loss is", [&] { trainer.update(); });
  EXPECT_EQ(trainer.parameter_hash(), hash);
  expect_error(Category::config, "update(): there are no gradients", [&] { trainer.update(); });
  trainer.step(data.rows(0, 8));
}

TEST(TrainerGradients, CallsThatDoNotFitAreRefused) {
  PointData data(8);
  Trainer trainer(point_config(), data.source());
  std::string name = trainer.weights()[0].name;
  std::vector<float> values(trainer.weights()[0].shape.elements());
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { trainer.gradient(name); }, [&] { trainer.update(); }, [&] { trainer.reject(); }})
    expect_error(Category::config, "(): there are no gradients; call compute_gradients() first",
                 call);
  expect_error(Category::config, "a batch of 3",
               [&] { trainer.compute_gradients(data.rows(0, 3)); });
  trainer.compute_gradients(data.rows(0, 8));
  for (const auto& call : std::vector<std::function<void()>>{
           [&] { trainer.step(data.rows(0, 8)); }, [&] { trainer.fit({.steps = 1}); },
           [&] { trainer.evaluate(); }, [&] { trainer.evaluate(data.rows(0, 8)); },
           [&] { trainer.predict(data.features.data(), 1); }, [&] { (void)trainer.save(); },
           [&] { trainer.load("nothing"); }, [&] { trainer.write_weight(name, values); }})
    expect_error(Category::config,
                 "(): gradients of step 1 wait for it to end; call update() or reject() first",
                 call);
  expect_error(Category::config, "no weight 'nothing'", [&] { trainer.gradient("nothing"); });
  expect_error(Category::config, "update(): the learning rate is -1", [&] { trainer.update(-1); });
  trainer.read_weight(name, values);
  trainer.update();
  trainer.fit({.steps = 1});
  EXPECT_EQ(trainer.steps_done(), 2);
}

}  // namespace
}  // namespace spire

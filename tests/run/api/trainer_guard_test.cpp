// Steps of a Trainer that are bad change nothing, and errors that leave no valid state end it.
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/run/api/point_data.h"

namespace spire {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

RunConfig adam_on(std::vector<std::string> devices = {"cpu:0"}) {
  RunConfig config = point_config(std::move(devices));
  config.model = {.name = "mlp", .hidden = {16}};
  config.optimizer.name = OptimizerConfig::Name::adam;
  config.optimizer.lr = 0.01;
  return config;
}

PointData bad_data() {
  PointData data(8);
  data.values[3] = nan;
  return data;
}

TEST(TrainerGuard, GradientsThatAreNotFiniteNeverReachTheWeights) {
  PointData good(8), bad = bad_data();
  for (const char* devices : {"cpu:0", "2xcpu"}) {
    for (bool clips : {false, true}) {
      RunConfig config = adam_on({devices});
      config.optimizer.clip_norm = clips ? 1 : 0;
      Trainer trainer(config, good.spec()), fresh(config, good.spec());
      uint64_t hash = trainer.parameter_hash();
      expect_error(Category::diverged, "step 1: the loss is nan, the gradient norm nan; it changed",
                   [&] { trainer.step(bad.rows(0, 8)); });
      EXPECT_EQ(trainer.parameter_hash(), hash);
      EXPECT_EQ(trainer.steps_done(), 0);
      EXPECT_EQ(trainer.step(good.rows(0, 8)).loss, fresh.step(good.rows(0, 8)).loss);
      EXPECT_EQ(trainer.parameter_hash(), fresh.parameter_hash());  // moments were untouched, too
    }
  }
}

TEST(TrainerGuard, SkipsStepsAsTheConfigSays) {
  PointData good(8), bad = bad_data();
  RunConfig config = adam_on();
  config.guard.on_bad_step = GuardConfig::OnBadStep::skip;
  config.guard.max_skips = 2;
  std::vector<std::string> remarks;
  Trainer trainer(config, good.spec(),
                  {.on_remark = [&](std::string_view text) { remarks.emplace_back(text); }});
  Trainer fresh(config, good.spec());
  remarks.clear();
  StepResult skipped = trainer.step(bad.rows(0, 8));
  EXPECT_TRUE(skipped.skipped);
  EXPECT_EQ(skipped.step, 1);
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0], "step 1 is left out: the loss is nan, the gradient norm nan");
  // The optimizer counts only the second one: its first update is that of a fresh trainer.
  EXPECT_FALSE(trainer.step(good.rows(0, 8)).skipped);
  fresh.step(good.rows(0, 8));
  EXPECT_EQ(trainer.parameter_hash(), fresh.parameter_hash());
  trainer.step(bad.rows(0, 8));
  trainer.step(bad.rows(0, 8));
  expect_error(Category::diverged, "step 5 (3 bad steps in a row): the loss is nan",
               [&] { trainer.step(bad.rows(0, 8)); });
  EXPECT_EQ(trainer.parameter_hash(), fresh.parameter_hash());
}

TEST(TrainerGuard, RefusesToRollBack) {
  RunConfig config = point_config();
  config.guard.on_bad_step = GuardConfig::OnBadStep::rollback;
  expect_error(Category::config, "guard.on_bad_step: rollback goes back to a run's checkpoints",
               [&] { Trainer trainer(config, PointData(8).spec()); });
}

TEST(TrainerGuard, RatesAreNumbersFromZeroOn) {
  PointData data(8);
  Trainer trainer(point_config(), data.spec());
  uint64_t hash = trainer.parameter_hash();
  for (double lr : {std::numeric_limits<double>::quiet_NaN(), -0.1, 1e300,
                    std::numeric_limits<double>::infinity()})
    expect_error(Category::config, "step(): the learning rate is",
                 [&] { trainer.step(data.rows(0, 8), lr); });
  trainer.step(data.rows(0, 8), 0);
  EXPECT_EQ(trainer.parameter_hash(), hash);
  EXPECT_EQ(trainer.steps_done(), 1);

  Trainer fits(point_config(), data.source());
  expect_error(Category::config, "FitOptions::lr: the learning rate is nan", [&] {
    fits.fit({.lr = [](int64_t) { return std::numeric_limits<double>::quiet_NaN(); }});
  });
  EXPECT_EQ(fits.fit().samples, 8);  // it goes on
}

TEST(TrainerGuard, AfterAnErrorWithoutAValidStateEveryCallThrows) {
  PointData data(8);
  DataSource source = [&](const ReadOptions&) {
    auto read = [&](int64_t sample, int64_t, const std::vector<std::byte*>&) {
      if (sample == 5) fail(Category::data, "sample 5 is broken");
    };
    DatasetPair pair;
    pair.train = function_dataset(data.spec(), 8, read);
    pair.test = function_dataset(data.spec(), 8, read);
    return pair;
  };
  Trainer trainer(point_config(), source);
  expect_error(Category::data, "sample 5 is broken", [&] { trainer.evaluate(); });
  const char* words = "left no valid state (";
  std::vector<float> weight(3);
  expect_error(Category::data, words, [&] { trainer.step(data.rows(0, 8)); });
  expect_error(Category::data, words, [&] { trainer.evaluate(data.rows(0, 8)); });
  expect_error(Category::data, words, [&] { trainer.evaluate(); });
  expect_error(Category::data, words, [&] { trainer.fit(); });
  expect_error(Category::data, words, [&] { trainer.predict(data.features.data(), 8); });
  expect_error(Category::data, words, [&] { trainer.read_weight("dense.weight", weight); });
  expect_error(Category::data, words, [&] { trainer.write_weight("dense.weight", weight); });
  expect_error(Category::data, words, [&] { trainer.parameter_hash(); });
  expect_error(Category::data, words, [&] { trainer.save("no.h5"); });
  expect_error(Category::data, words, [&] { trainer.load("no.h5"); });
}

TEST(TrainerApi, ALossThatIsNotFiniteIsAnError) {
  PointData data(8);
  data.values[3] = std::numeric_limits<float>::infinity();
  Trainer trainer(point_config(), data.spec());
  expect_error(Category::diverged, "step 1: the loss is inf",
               [&] { trainer.step(data.rows(0, 8)); });
}

}  // namespace
}  // namespace spire

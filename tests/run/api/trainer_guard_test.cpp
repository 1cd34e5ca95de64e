// Steps of a Trainer that are bad change nothing, and errors that leave no valid state end it.
#include <atomic>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <vector>

#include "engine/base/fail.h"
#include "tests/run/api/point_data.h"

namespace spire {
namespace {

namespace fs = std::filesystem;

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
      expect_error(Category::diverged,
                   "step 1: the loss is nan, the gradient norm nan; column 'values' of sample 3 is "
                   "nan; it changed nothing; leave such samples out, or mend them",
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
  EXPECT_EQ(remarks[0],
            "step 1 is left out: the loss is nan, the gradient norm nan; column 'values' of sample "
            "3 is nan");
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

// Data whose sample `broken` cannot be read, in training or in evaluation.
DataSource broken_source(const PointData& data, const std::atomic<int64_t>& broken,
                         bool in_training) {
  return [&data, &broken, in_training](const ReadOptions&) {
    auto reader = [&](bool breaks) {
      return [&, breaks](int64_t sample, int64_t, const std::vector<std::byte*>& out) {
        if (breaks && sample == broken) fail(Category::data, "sample {} is broken", sample);
        std::memcpy(out[0], data.features.data() + 3 * sample, 3 * sizeof(float));
        std::memcpy(out[1], data.values.data() + sample, sizeof(float));
      };
    };
    DatasetPair pair;
    pair.train = function_dataset(data.spec(), data.count, reader(in_training));
    pair.test = function_dataset(data.spec(), data.count, reader(!in_training));
    return pair;
  };
}

// With a moving average, which an evaluation puts in the place of the weights.
TEST(TrainerGuard, AnEvaluationOfASampleThatCannotBeReadChangesNothing) {
  PointData data(24);
  std::atomic<int64_t> broken = 21;  // of the third batch
  RunConfig config = point_config();
  config.ema.decay = 0.5;
  Trainer trainer(config, broken_source(data, broken, false)), whole(config, data.source());
  for (Trainer* each : {&trainer, &whole}) each->step(data.rows(0, 8));
  uint64_t hash = trainer.parameter_hash();
  for (int i = 0; i < 2; ++i)
    expect_error(Category::data, "sample 21 is broken", [&] { trainer.evaluate(); });
  EXPECT_EQ(trainer.parameter_hash(), hash);
  Folder folder;
  fs::path file = folder / "broken_sample.h5";
  trainer.save(file);
  trainer.load(file);
  broken = -1;
  EXPECT_EQ(trainer.evaluate().loss, whole.evaluate().loss);
  for (Trainer* each : {&trainer, &whole}) each->step(data.rows(8, 8));
  EXPECT_EQ(trainer.parameter_hash(), whole.parameter_hash());
}

TEST(TrainerGuard, AFitKeepsTheStepsBeforeASampleThatCannotBeRead) {
  PointData data(24);
  std::atomic<int64_t> broken = 5;  // readers read ahead
  RunConfig config = point_config();
  config.data.workers = 1;
  Trainer trainer(config, broken_source(data, broken, true)), whole(config, data.source());
  expect_error(Category::data, "sample 5 is broken", [&] { trainer.fit(); });
  int64_t done = trainer.steps_done();
  EXPECT_LT(done, 3);
  whole.fit({.steps = done});
  EXPECT_EQ(trainer.parameter_hash(), whole.parameter_hash());
  broken = -1;
  EXPECT_EQ(trainer.fit().loss, whole.fit().loss);
  EXPECT_EQ(trainer.steps_done(), 6);
  EXPECT_EQ(trainer.parameter_hash(), whole.parameter_hash());
}

TEST(TrainerGuard, AfterAnErrorWithoutAValidStateEveryCallThrows) {
  PointData data(8);
  Folder folder;
  fs::path file = folder / "other_model.h5";
  Trainer(adam_on(), data.spec()).save(file);
  Trainer trainer(point_config(), data.source());
  expect_error(Category::checkpoint, "", [&] { trainer.load(file); });
  const char* words = "left no valid state (";
  std::vector<float> weight(3);
  expect_error(Category::checkpoint, words, [&] { trainer.step(data.rows(0, 8)); });
  expect_error(Category::checkpoint, words, [&] { trainer.evaluate(data.rows(0, 8)); });
  expect_error(Category::checkpoint, words, [&] { trainer.evaluate(); });
  expect_error(Category::checkpoint, words, [&] { trainer.fit(); });
  expect_error(Category::checkpoint, words, [&] { trainer.predict(data.features.data(), 8); });
  expect_error(Category::checkpoint, words, [&] { trainer.read_weight("dense.weight", weight); });
  expect_error(Category::checkpoint, words, [&] { trainer.write_weight("dense.weight", weight); });
  expect_error(Category::checkpoint, words, [&] { trainer.parameter_hash(); });
  expect_error(Category::checkpoint, words, [&] { trainer.save("no.h5"); });
  expect_error(Category::checkpoint, words, [&] { trainer.load("no.h5"); });
}

}  // namespace
}  // namespace spire

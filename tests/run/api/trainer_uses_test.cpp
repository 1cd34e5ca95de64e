// A Trainer in programs: batches of any size, weights of other runs, its own callbacks, and a child
// process.
#include <memory>
#include <string>
#include <sys/wait.h>
#include <vector>

#include <unistd.h>

#include "tests/run/api/point_line.h"

namespace spire {
namespace {

TEST(TrainerUses, TakesBatchesOfAnySizeIfItIsTold) {
  PointData data(13);
  Trainer trainer(point_config(), data.spec(), {.any_batch = true});
  for (int64_t rows = 1; rows <= 8; ++rows) {  // towers have 4 samples, fewer, and none
    Line expected = after_step(line_of(trainer), data, 2, rows, 0.05);
    EXPECT_EQ(trainer.step(data.rows(2, rows), 0.05).samples, rows);
    Line line = line_of(trainer);
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(line[i], expected[i], 1e-6) << rows;
  }
  EXPECT_EQ(trainer.evaluate(data.rows(0, 13)).samples, 13);
  expect_error(Category::config, "a batch of 9", [&] { trainer.step(data.rows(0, 9)); });
  Trainer on_data(point_config(), data.source(), {.any_batch = true});
  EXPECT_EQ(on_data.step(data.rows(0, 3)).samples, 3);
}

// Weights alone go to a trainer of another batch, towers and optimizer.
TEST(TrainerUses, ReadsTheWeightsOfAnotherRun) {
  PointData data(16);
  Folder folder;
  std::string file = folder / "state.h5";
  Trainer trainer(point_config(), data.source());
  trainer.fit({.steps = 2});
  trainer.save(file);
  RunConfig config = point_config();
  config.batch_size = 8;
  config.towers = 1;
  config.optimizer.name = OptimizerConfig::Name::adam;
  Trainer other(config, data.source());
  other.fit({.steps = 1});
  other.load_weights({.from = file});
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  EXPECT_EQ(other.steps_done(), 1);
  other.fit({.steps = 1});
  other.load_weights(trainer.save());
  EXPECT_EQ(other.parameter_hash(), trainer.parameter_hash());
  expect_error(Category::config, "names no file", [&] { other.load_weights(InitConfig{}); });
  expect_error(Category::checkpoint, "/nowhere", [&] { other.load_weights({.from = "/nowhere"}); });
  uint64_t hash = other.parameter_hash();
  RunConfig wide = point_config();
  wide.model = {.name = "mlp", .hidden = {4}};
  Trainer mlp(wide, data.source());
  mlp.save(file);
  EXPECT_THROW(other.load_weights({.from = file}), Error);
  EXPECT_EQ(other.parameter_hash(), hash);
}

// A target in the first place would be the model's input, and learned at once.
TEST(TrainerUses, TheFirstColumnIsNoTarget) {
  SampleSpec spec;
  spec.columns = {{"values", {1}, DType::f32}, {"features", {3}, DType::f32}};
  expect_error(Category::config,
               "the first column is 'values', with which a loss compares; the "
               "model reads the first one: put 'features' there",
               [&] { Trainer trainer(point_config(), spec); });
}

TEST(TrainerUses, FitIsNotCalledByItsCallbacks) {
  PointData data(16);
  Trainer trainer(point_config(), data.source());
  expect_error(Category::config, "fit(): called by a callback of fit()", [&] {
    trainer.fit({.steps = 2, .on_step = [&](const StepResult&) {
                   trainer.fit({.steps = 1});
                   return true;
                 }});
  });
  trainer.fit({.steps = 1});
}

// A child has none of its parent's threads: it is told so, and ends without them.
TEST(TrainerUses, IsOfNoUseInAChildOfFork) {
  PointData data(8);
  for (const char* devices : {"cpu:0", "2xcpu"}) {
    auto trainer = std::make_unique<Trainer>(point_config({devices}), data.spec());
    trainer->step(data.rows(0, 8));
    pid_t child = fork();
    if (child == 0) {
      std::string text = message_of(Category::config, [&] { trainer->step(data.rows(0, 8)); });
      trainer.reset();
      _exit(text.find("a child made by fork() has none of its threads") != std::string::npos ? 0
                                                                                             : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << devices;
    trainer->step(data.rows(0, 8));
  }
}

}  // namespace
}  // namespace spire

// Runs that stop and go on, and checkpoints that are evaluated.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/tools/small_data.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

std::vector<std::string> eval(std::vector<std::string> words) {
  words.insert(words.begin(), "eval");
  return words;
}

// Returns the steps of complete checkpoints, by their names step_<N>.h5.
int64_t newest_step(const std::string& run) {
  int64_t newest = 0;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) {
    std::string name = entry.path().filename();
    if (!name.starts_with("step_") || !name.ends_with(".h5")) continue;
    newest = std::max(newest, static_cast<int64_t>(std::stoll(name.substr(5))));
  }
  return newest;
}

TEST(Resume, PartsEndWithTheHashOfTheWhole) {
  SmallData data;
  Output whole = trainer(data.run("whole", {"steps=13"}));
  ASSERT_EQ(whole.code, 0) << whole.err;
  ASSERT_EQ(trainer(data.run("parts", {"steps=5"})).code, 0);  // an epoch has 8 steps
  Output parts = trainer(data.run("parts", {"steps=13", "--resume", "auto"}));
  ASSERT_EQ(parts.code, 0) << parts.err;
  EXPECT_THAT(parts.err, HasSubstr("step_00000005"));
  EXPECT_EQ(parameter_hash(parts), parameter_hash(whole));
}

TEST(Resume, AutoBeginsWhereNothingIs) {
  SmallData data;
  EXPECT_EQ(trainer(data.run("run", {"--resume=auto"})).code, 0);
}

TEST(Resume, FromANamedCheckpoint) {
  SmallData data;
  ASSERT_EQ(trainer(data.run("first", {"steps=5"})).code, 0);
  std::string path = data.output("first") + "/checkpoints/step_00000005.h5";
  Output output = trainer(data.run("second", {"--resume", path}));
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(parameter_hash(output), parameter_hash(trainer(data.run("whole"))));
}

TEST(Resume, AMissingOrDamagedCheckpointIsCodeFive) {
  SmallData data;
  Output missing = trainer(data.run("run", {"--resume", data.output("none.h5")}));
  EXPECT_EQ(missing.code, 5);
  EXPECT_THAT(missing.last_error_line(), StartsWith("error[5]: "));
  EXPECT_THAT(missing.last_error_line(), HasSubstr("none.h5"));
  std::string garbage = data.folder.write("garbage.h5", "no checkpoint");
  Output damaged = trainer(data.run("run", {"--resume", garbage}));
  EXPECT_EQ(damaged.code, 5);
  EXPECT_THAT(damaged.last_error_line(), HasSubstr("garbage.h5"));
}

TEST(Resume, AnotherSeedIsRefused) {
  SmallData data;
  ASSERT_EQ(trainer(data.run("run", {"steps=5"})).code, 0);
  Output output = trainer(data.run("run", {"seed=8", "--resume", "auto"}));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("seed"));
}

TEST(Stop, ASignalSavesACheckpointFromWhichTheRunGoesOn) {
  SmallData data;
  for (int number : {SIGTERM, SIGINT, SIGUSR1}) {
    std::string name = "run" + std::to_string(number);
    Program program(
        data.run(name, {"steps=100000000", "eval.every_epochs=0", "checkpoint.every_epochs=0"}));
    ASSERT_TRUE(program.wait_for("step 1/"));
    program.signal(number);
    Output stopped = program.finish();
    EXPECT_EQ(stopped.code, 75) << stopped.err;
    EXPECT_THAT(stopped.last_error_line(), StartsWith("error[75]: stopped by a signal at step "));
    EXPECT_THAT(stopped.last_error_line(), HasSubstr("--resume auto"));
    EXPECT_THAT(stopped.err, HasSubstr("stopping"));
    const std::string& line = stopped.last_error_line();
    int64_t step = std::stoll(line.substr(line.find("step ") + 5));
    Output output =
        trainer(data.run(name, {"steps=" + std::to_string(step + 2), "--resume", "auto"}));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.err, HasSubstr("step " + std::to_string(step + 2) + "/"));
  }
}

TEST(Stop, AKilledRunGoesOnFromItsLastCheckpoint) {
  SmallData data;
  Program program(
      data.run("run", {"steps=100000000", "checkpoint.every_steps=5", "eval.every_epochs=0"}));
  ASSERT_TRUE(program.wait_for("checkpoint step"));
  program.signal(SIGKILL);
  EXPECT_EQ(program.finish().code, 128 + SIGKILL);
  std::string end = std::to_string(newest_step(data.output("run")) + 2);
  Output output = trainer(
      {"--config", data.output("run") + "/config.yaml", "steps=" + end, "--resume", "auto"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(parameter_hash(output), parameter_hash(trainer(data.run("whole", {"steps=" + end}))));
}

TEST(Eval, GivesTheMetricsOfTheRun) {
  SmallData data;
  ASSERT_EQ(trainer(data.run("run")).code, 0);
  std::ifstream file(data.output("run") + "/summary.json");
  auto summary = nlohmann::json::parse(file);
  Output output = trainer(eval(data.run("run")));
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(line_value(output.out, "samples "), "50");
  EXPECT_THAT(line_value(output.out, "checkpoint "), StartsWith(data.output("run")));
  EXPECT_NEAR(std::stod(line_value(output.out, "test_accuracy ")),
              summary["val"]["best_accuracy"].get<double>(),
              5e-5);  // four digits are printed
}

TEST(Eval, IsTheSameForAnyDeviceCount) {
  SmallData data;
  ASSERT_EQ(trainer(data.run("run", {"towers=2"})).code, 0);
  Output one = trainer(eval(data.run("run", {"towers=2", "devices=1xcpu"})));
  Output two = trainer(eval(data.run("run", {"towers=2", "devices=2xcpu"})));
  ASSERT_EQ(one.code, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
}

TEST(Eval, WithoutACheckpointIsCodeFive) {
  SmallData data;
  Output output = trainer(eval(data.run("run")));
  EXPECT_EQ(output.code, 5);
  EXPECT_EQ(output.out, "");
  EXPECT_THAT(output.last_error_line(), HasSubstr(data.output("run")));
}

}  // namespace
}  // namespace spire

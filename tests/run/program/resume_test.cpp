// k steps, kill -9, --resume auto, the other steps: the same bits as a run that went straight.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t max_steps = 25;

struct ResumeCase {
  std::string name;
  Words model;
  int64_t every;  // steps between checkpoints
  int64_t from;   // where the resumed part begins; an epoch has 10 steps
  std::string devices;

  friend std::ostream& operator<<(std::ostream& out, const ResumeCase& c) { return out << c.name; }
};

class ResumeAfterKill : public testing::TestWithParam<ResumeCase> {
 protected:
  Words words(const std::string& name, const Words& more = {}) const {
    Words course = {"steps=" + std::to_string(max_steps),
                    "checkpoint.every_steps=" + std::to_string(GetParam().every),
                    "checkpoint.keep_last=1000",
                    "schedule.name=cosine",
                    "schedule.warmup_epochs=0.5",
                    "optimizer.nesterov=true"};
    return folder.run(name, GetParam().model + course + more);
  }

  // Kills a run once it has written the checkpoint of step `from`. What it wrote after that goes
  // away, as if the kill had come at once.
  void kill_at(int64_t from) {
    Program program(words("killed"));
    ASSERT_TRUE(program.wait_for("checkpoint step " + std::to_string(from) + " "));
    program.signal(SIGKILL);
    program.finish();
    for (int64_t step : folder.checkpoints("killed"))
      if (step > from) fs::remove(folder.checkpoint("killed", step));
    fs::remove(folder / "killed/summary.json");
  }

  RunFolder folder;
};

int warnings_in(const std::string& log) {
  int count = 0;
  for (size_t at = log.find("warning: "); at != log.npos; at = log.find("warning: ", at + 1))
    ++count;
  return count;
}

TEST_P(ResumeAfterKill, EndsLikeAStraightRun) {
  Output straight = trainer(words("straight"));
  ASSERT_EQ(straight.code, 0) << straight.err;
  kill_at(GetParam().from);
  Output resumed = trainer(words("killed", {"--resume", "auto", "devices=" + GetParam().devices}));
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("at step " + std::to_string(GetParam().from) + " from "));
  EXPECT_EQ(warnings_in(resumed.err), warnings_in(straight.err)) << resumed.err;

  EXPECT_EQ(printed_hash(straight).size(), 16u);
  EXPECT_EQ(printed_hash(resumed), printed_hash(straight));
  Json expected = folder.summary("straight"), summary = folder.summary("killed");
  EXPECT_EQ(summary["parameter_hash"], printed_hash(straight));
  EXPECT_EQ(summary["val"], expected["val"]);
  EXPECT_EQ(summary["steps"], max_steps);
  EXPECT_EQ(curve(folder.metrics("killed")), curve(folder.metrics("straight")));
  expect_ascending(folder.metrics("killed"));
}

INSTANTIATE_TEST_SUITE_P(
    TowerTrainer, ResumeAfterKill,
    testing::Values(ResumeCase{"MlpInTheFirstEpoch", test_mlp, 1, 1, "1xcpu"},
                    ResumeCase{"MlpMidEpoch", test_mlp, 1, 13, "2xcpu"},
                    ResumeCase{"MlpAtTheEnd", test_mlp, 3, 25, "1xcpu"},
                    ResumeCase{"CnnMidEpoch", test_cnn, 1, 7, "1xcpu"},
                    ResumeCase{"CnnMidEpochOnTwoDevices", test_cnn, 3, 12, "2xcpu"},
                    ResumeCase{"CnnBetweenEpochs", test_cnn, 1, 20, "2xcpu"},
                    ResumeCase{"ResnetMidEpoch", test_resnet, 3, 9, "1xcpu"},
                    ResumeCase{"ResnetMidEpochOnTwoDevices", test_resnet, 1, 14, "2xcpu"}),
    [](const auto& test) { return test.param.name; });

class ResumeChecks : public testing::Test {
 protected:
  Output run(const std::string& name, const Words& more) {
    return trainer(folder.run(name, test_mlp + Words{"checkpoint.every_steps=4"} + more));
  }
  void damage(int64_t step) {
    std::fstream file(folder.checkpoint("run", step), std::ios::in | std::ios::out);
    file.seekp(700).put('?').put('!');
  }

  RunFolder folder;
};

TEST_F(ResumeChecks, ADamagedCheckpointIsNamedAndTheOneBeforeTaken) {
  std::string straight = printed_hash(run("straight", {"steps=14"}));
  ASSERT_EQ(run("run", {"steps=14"}).code, 0);
  damage(14);
  damage(12);
  fs::copy(folder / "run", folder / "alone", fs::copy_options::recursive);
  Output alone = trainer({"--resume", (folder / "alone").string()});  // by the config that it has
  EXPECT_EQ(printed_hash(alone), straight);
  const char* warning = "step_00000014.h5: skipped: ";
  EXPECT_NE(alone.err.find(warning), std::string::npos);
  EXPECT_EQ(alone.err.find(warning), alone.err.rfind(warning)) << "it warns once";
  Output resumed = run("run", {"steps=14", "--resume", "auto"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, testing::ContainsRegex("warning: .*step_00000014.h5: skipped: "));
  EXPECT_THAT(resumed.err, testing::ContainsRegex("warning: .*step_00000012.h5: skipped: "));
  EXPECT_THAT(resumed.err, HasSubstr("at step 10 from "));
  EXPECT_EQ(printed_hash(resumed), straight);
}

TEST_F(ResumeChecks, WithoutAWholeCheckpointTheRunIsNotThrownAway) {
  ASSERT_EQ(run("run", {"steps=9"}).code, 0);
  for (int64_t step : folder.checkpoints("run")) damage(step);
  auto before = folder.checkpoints("run");
  Output refused = run("run", {"steps=9", "--resume", "auto"});
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.last_error_line(), HasSubstr("error[5]: none of the"));
  EXPECT_THAT(refused.last_error_line(), HasSubstr("--overwrite"));
  EXPECT_EQ(folder.checkpoints("run"), before);
  EXPECT_EQ(folder.summary("run")["exit"], 0);
}

TEST_F(ResumeChecks, AFinishedRunStaysFinished) {
  Output first = run("run", {"steps=14"});
  auto metrics = folder.metrics("run");
  Output again = run("run", {"steps=14", "--resume", "auto"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(printed_hash(again), printed_hash(first));
  EXPECT_EQ(folder.metrics("run"), metrics);
  EXPECT_TRUE(folder.summary("run")["val"].is_object());
}

TEST_F(ResumeChecks, AnEarlierCheckpointTakesTheRunBack) {
  std::string straight = printed_hash(run("run", {"steps=14"}));
  std::string path = folder.checkpoint("run", 10);
  Output back = run("run", {"steps=14", "--resume", path});
  EXPECT_THAT(back.err, HasSubstr("at step 10 from "));
  EXPECT_EQ(printed_hash(back), straight);
  expect_ascending(folder.metrics("run"));
}

// A branch: the source stays as it is, and the new directory can be resumed by itself.
TEST_F(ResumeChecks, ACheckpointOfAnotherDirectoryBeginsABranch) {
  ASSERT_EQ(run("run", {"steps=14"}).code, 0);
  auto source = folder.checkpoints("run");
  Words branch = {"--resume", folder.checkpoint("run", 10), "optimizer.lr=0.01"};
  Output output = run("branch", Words{"steps=11"} + branch);
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.err, HasSubstr("optimizer.lr is 0.01, was 0.05"));
  EXPECT_EQ(folder.checkpoints("run"), source);
  EXPECT_EQ(folder.checkpoints("branch"), (std::vector<int64_t>{10, 11}));
  Output refused = run("branch", Words{"steps=14"} + branch);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.last_error_line(), HasSubstr("is not empty"));
  // Only a branch may replace a run: another run's checkpoint is not among what is deleted.
  Output replaced = run("branch", Words{"steps=12", "--overwrite"} + branch);
  EXPECT_EQ(replaced.code, 0) << replaced.err;
  EXPECT_EQ(folder.checkpoints("branch"), (std::vector<int64_t>{10, 12}));
  for (const std::string& own : {std::string("auto"), folder.checkpoint("run", 10).string()}) {
    Output deletes_itself = run("run", {"--overwrite", "--resume", own});
    EXPECT_EQ(deletes_itself.code, 2) << deletes_itself.err;
    EXPECT_THAT(deletes_itself.last_error_line(), HasSubstr("give only one of them"));
  }
}

TEST_F(ResumeChecks, WhatIsBeyondTheEndIsSaid) {
  std::string hash = printed_hash(run("run", {"steps=14"}));
  Output output = run("run", {"steps=9", "--resume", "auto"});
  EXPECT_EQ(output.code, 0);
  EXPECT_THAT(output.err,
              HasSubstr("warning: nothing is left to train: the checkpoint is of step 14, and the "
                        "run ends at step 9; set more epochs or steps to train on"));
  EXPECT_EQ(printed_hash(output), hash);
}

}  // namespace
}  // namespace spire

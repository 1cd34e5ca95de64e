// trainer sweep: a grid of small runs, undisturbed, stopped, killed, and with runs that fail.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"
#include "tests/tools/many_processes.h"

namespace spire {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

// Three points of 20 steps, 10 an epoch, with a checkpoint each 4 steps; two at a time.
class SweepTest : public testing::Test {
 protected:
  Words words(const std::string& name, const Words& more = {}) const {
    Words words =
        folder_.run(name, test_mlp + Words{"optimizer.lr=0.05,0.02,0.2", "steps=20",
                                           "checkpoint.every_steps=4", "eval.every_epochs=1"});
    return Words{"sweep", "--jobs", "2"} + words + more;
  }

  // What a point's run has computed, without times.
  static Json computed(Json point) {
    for (const char* time : {"samples_per_s", "seconds", "train_loss"}) point.erase(time);
    return point;
  }
  std::vector<Json> points(const std::string& name) const {
    Json json = Json::parse(content_of(folder_ / name / "sweep.json"));
    std::vector<Json> all;
    for (const Json& point : json.at("points")) all.push_back(computed(point));
    return all;
  }

  // What a sweep gives that nobody disturbs.
  std::vector<Json> straight() const {
    if (!fs::exists(folder_ / "straight")) {
      Output output = trainer(words("straight"));
      EXPECT_EQ(output.code, 0) << output.err;
    }
    return points("straight");
  }

  // The same command once more, which ends as if nothing had happened.
  void expect_straight_end(const std::string& name) const {
    Output output = trainer(words(name));
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_EQ(points(name), straight());
    EXPECT_THAT(output.out, HasSubstr("\nwritten: "));
  }

  RunFolder folder_;
};

TEST_F(SweepTest, TrainsWhatEachRunAloneTrains) {
  auto swept = straight();
  ASSERT_EQ(swept.size(), 3u);
  const char* rates[] = {"0.05", "0.02", "0.2"};
  for (size_t i = 0; i < 3; ++i) {
    SCOPED_TRACE(rates[i]);
    Output alone =
        trainer(folder_.run(std::string("alone") + rates[i],
                            test_mlp + Words{std::string("optimizer.lr=") + rates[i], "steps=20"}));
    EXPECT_EQ(swept[i].at("settings").at("optimizer.lr"), rates[i]);
    EXPECT_EQ(swept[i].at("state"), "done");
    EXPECT_EQ(swept[i].at("parameter_hash"), printed_hash(alone)) << alone.err;
  }
}

TEST_F(SweepTest, PrintsATableWithTheBestFirst) {
  Output output = trainer(words("run"));
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, testing::StartsWith("lr    best "));
  EXPECT_THAT(content_of(folder_ / "run/sweep.html"), testing::HasSubstr("data-view=\"sweep\""));
  double last = 1;
  std::istringstream csv(content_of(folder_ / "run/sweep.csv"));
  std::string line;
  std::getline(csv, line);
  EXPECT_THAT(
      line, testing::StartsWith("point,optimizer.lr,state,exit,message,metric,best_metric,best,"));
  for (int row = 0; row < 3; ++row) {
    ASSERT_TRUE(std::getline(csv, line));
    std::istringstream fields(line);
    std::string best;
    for (int field = 0; field < 8; ++field) std::getline(fields, best, ',');
    EXPECT_LE(std::stod(best), last);
    last = std::stod(best);
  }
}

TEST_F(SweepTest, GoesOnAfterRunsThatFailAndTriesThemAgain) {
  Words two = words(
      "run", {"data.path=" + (folder_ / "data").string() + "," + (folder_ / "later").string()});
  Output output = trainer(two);
  EXPECT_EQ(output.code, 4);
  EXPECT_THAT(output.last_error_line(), HasSubstr("3 of 6 points failed, the first: 2-"));
  EXPECT_THAT(output.out, HasSubstr("failed (4)"));
  EXPECT_THAT(output.err, HasSubstr("3 of 6 points done"));
  fs::create_directory_symlink(folder_ / "data", folder_ / "later");
  EXPECT_EQ(trainer(two).code, 0);
  auto all = points("run");
  for (size_t i = 0; i < 6; i += 2)
    EXPECT_EQ(all[i].at("parameter_hash"), all[i + 1].at("parameter_hash"));
}

TEST_F(SweepTest, RefusesAFolderOfAnotherSweepAndSaysWhatDiffers) {
  straight();
  Output output = trainer(words("straight", {"batch_size=16"}));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(),
              HasSubstr("holds another sweep: batch_size: 8 in the folder, "
                        "16 now"));
  EXPECT_EQ(trainer({"sweep", "--resume", (folder_ / "straight").string()}).code, 0);
  EXPECT_EQ(trainer(words("data")).code, 2);  // files of something else
}

TEST_F(SweepTest, KeepsAFolderForItselfWhileItRuns) {
  Program program(words("run", {"steps=100000000", "log.every_steps=1000000"}));
  ASSERT_TRUE(program.wait_for("2-lr=0.02 starts"));
  Output output = trainer(words("run"));
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("is in use by another sweep ("));
  EXPECT_THAT(output.last_error_line(),
              HasSubstr(", process " + std::to_string(program.pid()) + ", since "));
}

TEST_F(SweepTest, EndsAtOnceOnASecondInterrupt) {
  Program program(words("run", {"steps=100000000", "log.every_steps=1000000"}));
  ASSERT_TRUE(program.wait_for("2-lr=0.02 starts"));
  auto children = wait_for_ranks(program, 2);
  for (pid_t child : children) kill(child, SIGSTOP);  // they cannot end by themselves
  program.signal(SIGINT);
  ASSERT_TRUE(program.wait_for("press Ctrl+C again"));
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().code, 130);
  EXPECT_TRUE(all_gone(children));
}

// The run's own supervisor starts it again.
TEST_F(SweepTest, StartsKilledRunsAgainWhereThatIsAsked) {
  Program program(words(
      "run", {"--max-restarts=1", "steps=2000", "log.every_steps=1000", "eval.every_epochs=0"}));
  ASSERT_TRUE(program.wait_for("1-lr=0.05 starts"));
  std::vector<pid_t> runs;
  ASSERT_TRUE(within_a_minute([&] {
    auto supervisors = children_of(program.pid());
    if (!supervisors.empty()) runs = children_of(supervisors.front());
    return !runs.empty();
  }));
  kill(runs.front(), SIGKILL);
  Output output = program.finish();
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(content_of(folder_ / "run/1-lr=0.05.log"), HasSubstr("restart 1 of 1"));
}

TEST_F(SweepTest, StopsItsRunsOnASignal) {
  Program program(words("run", {"steps=100000000", "log.every_steps=1000000"}));
  fs::path checkpoints = folder_ / "run" / "1-lr=0.05" / "checkpoints";
  ASSERT_TRUE(within_a_minute([&] { return fs::exists(checkpoints / "latest"); }));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_THAT(output.err, HasSubstr("stopping: 2 runs save a checkpoint first"));
  EXPECT_EQ(output.last_error_line(), "error[75]: stopped by a signal; the same command goes on");
  EXPECT_THAT(output.out, HasSubstr("not started"));
  EXPECT_EQ(folder_.summary("run/1-lr=0.05").at("exit"), 75);
}

// The children of a killed sweep die with it; the command given again at once waits for that.
TEST_F(SweepTest, KilledBetweenItsRunsGoesOn) {
  for (const char* moment : {"1-lr=0.05 starts", "1 of 3 points done", "2 of 3 points done"}) {
    SCOPED_TRACE(moment);
    std::string name = std::string("run") + moment[0] + moment[2];
    Program program(words(name));
    ASSERT_TRUE(program.wait_for(moment));
    auto children = children_of(program.pid());
    program.signal(SIGKILL);
    // The last point may be done before the signal arrives.
    EXPECT_THAT(program.finish().code, AnyOf(128 + SIGKILL, 0));
    expect_straight_end(name);
    EXPECT_TRUE(all_gone(children));
  }
}

// Runs that stop, or are killed, as they enter a phase.
class SweepInPhase : public SweepTest, public testing::WithParamInterface<const char*> {
 protected:
  Program start(const std::string& name, const std::string& kind) const {
    return Program("/usr/bin/env",
                   Words{"SPIRE_TEST_FAULT=phase=" + std::string(GetParam()) + " kind=" + kind,
                         FAULTY_TRAINER_PROGRAM} +
                       words(name));
  }
};

TEST_P(SweepInPhase, AKilledSweepGoesOn) {
  auto program = start("run", "stop");
  std::vector<pid_t> children = wait_for_ranks(program, 2);
  ASSERT_TRUE(all_in_state(children, 'T'));
  program.signal(SIGKILL);
  program.finish();
  EXPECT_TRUE(all_gone(children));
  expect_straight_end("run");
}

// The signal reaches the runs in that phase; they go on, save and end.
TEST_P(SweepInPhase, AStoppedSweepGoesOn) {
  auto program = start("run", "stop");
  std::vector<pid_t> children = wait_for_ranks(program, 2);
  ASSERT_TRUE(all_in_state(children, 'T'));
  program.signal(SIGINT);
  ASSERT_TRUE(program.wait_for("stopping: 2 runs"));
  for (pid_t child : children) kill(child, SIGCONT);
  Output output = program.finish();
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_THAT(output.out, HasSubstr("interrupted"));
  expect_straight_end("run");
}

TEST_P(SweepInPhase, KilledRunsAreReportedAndGoOn) {
  Output output = start("run", "kill").finish();
  EXPECT_EQ(output.code, 8) << output.err;
  EXPECT_THAT(output.last_error_line(), HasSubstr("3 of 3 points failed"));
  EXPECT_THAT(output.last_error_line(), HasSubstr("was killed by signal 9"));
  expect_straight_end("run");
}

INSTANTIATE_TEST_SUITE_P(Runs, SweepInPhase,
                         testing::Values("start", "forward", "update", "eval", "checkpoint"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace spire

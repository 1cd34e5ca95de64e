// Runs whose processes die or hang, and that the program starts again.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/many_processes.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
namespace fs = std::filesystem;

// Long enough that a run is killed before its end, once it has written a checkpoint.
const Words long_run = {"steps=3000", "checkpoint.every_steps=20", "checkpoint.every_epochs=0",
                        "eval.every_epochs=0", "log.every_steps=100"};

class KilledRank : public testing::TestWithParam<size_t> {};

TEST_P(KilledRank, TheRunEndsAsIfNothingHadHappened) {
  ManyProcesses many;
  Program program(many.run("run", long_run + Words{"--processes=3", "--max-restarts=2"}));
  kill(ranks_after("checkpoint step", program, 3).at(GetParam()), SIGKILL);
  Output output = expect_success(program.finish());
  EXPECT_THAT(output.err,
              HasSubstr("\nrestart 1 of 2: rank " + std::to_string(GetParam()) +
                        " was killed by signal 9 (Killed); 3 processes go on from the newest "
                        "checkpoint\n"));
  EXPECT_THAT(output.err, Not(HasSubstr("restart 2")));
  Output straight = expect_success(trainer(many.run("straight", long_run)));
  EXPECT_EQ(printed_hash(output), printed_hash(straight));
}

INSTANTIATE_TEST_SUITE_P(Each, KilledRank, testing::Values(0, 1, 2));

TEST(Restart, AnElasticRunGoesOnWithThoseThatAreLeft) {
  ManyProcesses many;
  Program program(
      many.run("run", long_run + Words{"elastic=true", "--processes=4", "--max-restarts=1"}));
  std::vector<pid_t> ranks = ranks_after("checkpoint step", program, 4);
  kill(ranks[1], SIGSTOP);  // it cannot end before it is killed, too
  kill(ranks[2], SIGKILL);
  kill(ranks[1], SIGKILL);
  Output output = expect_success(program.finish());
  expect_parts(output.err,
               {"; 2 processes go on from the newest checkpoint\n", "processes     2 over TCP"});
  EXPECT_EQ(printed_hash(output), printed_hash(trainer(many.run("straight", long_run))));
}

// By default there are as many towers as devices, and no checkpoint has recorded that yet.
TEST(Restart, AnElasticRunStaysTheSameRunBeforeItsFirstCheckpoint) {
  SmallData data;
  Program program(
      data.run("run", {"steps=100000000", "checkpoint.every_epochs=0", "eval.every_epochs=0",
                       "elastic=true", "--processes=2", "--max-restarts=1"}));
  kill(ranks_after(" step 1/", program, 2)[1], SIGKILL);
  ASSERT_TRUE(program.wait_for(" step 1/", 2));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_THAT(output.err, HasSubstr("(Killed); 1 process starts again\n"));
  EXPECT_GE(count(output.err, "global batch  64 = 2 towers × 32"), 2) << output.err;
}

// One process without ranks, whose config has gone meanwhile.
TEST(Restart, NeedsNoRanksAndReadsTheConfigOnce) {
  ManyProcesses many;
  ASSERT_EQ(trainer(many.run("straight", long_run)).code, 0);
  std::string config = many.data.folder / "run.yaml";
  fs::copy_file(many.data.output("straight") + "/config.yaml", config);
  Program program({"--config", config, "--output", many.data.output("run"), "--max-restarts=1"});
  ASSERT_TRUE(program.wait_for("checkpoint step"));
  fs::remove(config);
  kill(wait_for_ranks(program, 1)[0], SIGABRT);  // which no sanitizer catches
  Output output = expect_success(program.finish());
  EXPECT_THAT(output.err,
              HasSubstr("\nrestart 1 of 1: the process was killed by signal 6 (Aborted); "
                        "1 process goes on from the newest checkpoint\n"));
  EXPECT_THAT(output.err, Not(HasSubstr("over TCP")));
  EXPECT_THAT(content_of(many.data.output("straight") + "/summary.json"),
              HasSubstr(printed_hash(output)));
}

TEST(Restart, GivesUpWhenTheLastTryFails) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=2", "--max-restarts=1"}));
  kill(ranks_after(" step 1/", program, 2)[0], SIGKILL);
  ASSERT_TRUE(program.wait_for("output        ", 2));
  kill(wait_for_ranks(program, 2)[1], SIGKILL);
  Output output = program.finish();
  EXPECT_EQ(output.code, 8);
  EXPECT_EQ(output.last_error_line(),
            "error[8]: gave up after 1 restart; the last: rank 1 was killed by signal 9 (Killed); "
            "continue with --resume auto");
}

TEST(Restart, ASignalMeanwhileStopsIt) {
  ManyProcesses many;
  Program program(many.endless("run", {"--processes=2", "--max-restarts=1"}));
  kill(ranks_after(" step 1/", program, 2)[0], SIGKILL);
  ASSERT_TRUE(program.wait_for("restart 1 of 1"));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_EQ(output.code, 75);
  EXPECT_EQ(output.last_error_line(),
            "error[75]: stopped by a signal before restart 1; continue with --resume auto");
}

// A stopped rank gives no sign of life and cannot end: the others time out, and it is killed.
TEST(Restart, ARankThatHangsIsKilled) {
  ManyProcesses many;
  Program program(many.endless(
      "run", {"--processes=2", "--max-restarts=1", "timeouts.step=2", "timeouts.silence=4"}));
  std::vector<pid_t> ranks = ranks_after("checkpoint step", program, 2);
  kill(ranks[1], SIGSTOP);
  ASSERT_TRUE(program.wait_for("\nresumed "));
  EXPECT_TRUE(std::ranges::all_of(ranks, gone));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_EQ(output.code, 75) << output.err;
  EXPECT_THAT(output.err, HasSubstr("restart 1 of 1: rank 0 ended with exit code 8; 2 processes"));
}

// Killed before it has deleted the old run, the new one must not go on with that.
TEST(Restart, AnOverwritingRunStaysOne) {
  ManyProcesses many;
  ASSERT_EQ(trainer(many.run("run", {"seed=8"})).code, 0);
  Program program(many.run("run", {"--overwrite", "--max-restarts=1"}));
  kill(wait_for_ranks(program, 1)[0], SIGKILL);
  Output output = expect_success(program.finish());
  EXPECT_EQ(printed_hash(output), printed_hash(trainer(many.run("straight"))));
}

// A run that would have been refused must not delete the old one.
TEST(Restart, ARefusedRunStaysRefused) {
  ManyProcesses many;
  Output old = expect_success(trainer(many.run("run")));
  Program program(many.run("run", {"seed=8", "--max-restarts=1"}));
  kill(wait_for_ranks(program, 1)[0], SIGKILL);
  expect_error(2, program.finish(), "is not empty");
  Output again = trainer(many.run("run", {"--resume", "auto"}));
  EXPECT_EQ(printed_hash(again), printed_hash(old));
}

}  // namespace
}  // namespace spire

// trainer audit and trainer compare, of runs by one process and by several.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/made_run.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;

class Audit : public testing::Test {
 protected:
  void train(const std::string& name, const Words& more = {}) {
    Output output = trainer(folder.run(
        name, test_cnn +
                  Words{"steps=8", "checkpoint.every_steps=3", "audit.weights_every_steps=2"} +
                  more));
    ASSERT_EQ(output.code, 0) << output.err;
  }
  Output audit(const std::string& name, const Words& more = {}) {
    return trainer(Words{"audit", (folder / name).string()} + more);
  }

  RunFolder folder;
};

TEST_F(Audit, ARunOf4ProcessesWith3TowersEachPassesOnOneDevice) {
  Words towers = {"towers=12", "batch_size=4", "log.every_steps=1"};
  train("many", towers + Words{"--processes", "4", "strategy=sharded"});
  train("one", towers + Words{"devices=1xcpu"});
  EXPECT_EQ(folder.summary("many")["chain"], folder.summary("one")["chain"]);
  EXPECT_EQ(folder.metrics("many").front()["train/chain"],
            folder.metrics("one").front()["train/chain"]);
  Output output = audit("many", {"--from", "0", "--set", "devices=1xcpu"});
  EXPECT_EQ(output.code, 0) << output.err << output.out;
  EXPECT_THAT(output.out, HasSubstr("the chain is whole: 8 steps up to step 8"));
  EXPECT_THAT(output.out, HasSubstr("replayed from the beginning to step 8: equal, 8 steps"));
  output = audit("many", {"--random", "2", "--steps", "2", "--choice", "1"});
  EXPECT_EQ(output.code, 0) << output.err << output.out;
}

TEST_F(Audit, WhatWasChangedIsCodeOne) {
  train("a");
  Output output = audit("a");
  EXPECT_EQ(output.code, 0) << output.err;
  std::ofstream(folder / "a" / "audit.jsonl", std::ios::app) << "{}\n";
  output = audit("a");
  EXPECT_EQ(output.code, 1);
  EXPECT_THAT(output.out, HasSubstr("is not a record of a step"));
}

TEST_F(Audit, AnotherMachineIsCodeOneAndNamesTheStep) {
  train("a", {"tower_threads=1"});
  Output output = audit("a", {"--from", "3", "--set", "optimizer.momentum=0.5"});
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_THAT(output.out, HasSubstr("not as in the run: config optimizer.momentum"));
  EXPECT_THAT(output.out, HasSubstr("first difference: step 4: weights "));
  EXPECT_THAT(output.out, HasSubstr("further replays agree with each other"));
}

TEST(AuditOfARollback, StepsThatNoReplayReachesAreCodeNine) {
  MadeRuns runs;
  Output run = trainer(
      runs.words("run", {"guard.loss_zscore=20", "guard.window=3", "guard.on_bad_step=rollback",
                         "seed=3", "checkpoint.every_steps=2", "checkpoint.keep_last=20"}));
  ASSERT_EQ(run.code, 0) << run.err;
  Words audit = {"audit", (runs / "run").string()};
  Output files = trainer(audit);
  EXPECT_EQ(files.code, 0) << files.out << files.err;
  EXPECT_THAT(files.out, HasSubstr("no replay reaches "));
  Output all = trainer(audit + Words{"--random", "100"});
  EXPECT_EQ(all.code, 9) << all.out << all.err;
  EXPECT_THAT(all.out, testing::Not(HasSubstr("different")));
}

TEST_F(Audit, WhatCannotBeAuditedIsCodeTwo) {
  train("none", {"audit.chain=false"});
  EXPECT_EQ(audit("none").code, 2);
  EXPECT_EQ(audit("nowhere").code, 2);
  train("a");
  EXPECT_EQ(audit("a", {"--from", "2"}).code, 2);
  EXPECT_EQ(audit("a", {"--steps", "2"}).code, 2);
  EXPECT_EQ(audit("a", {"--from", "0", "--random", "1"}).code, 2);
}

using testing::Not;

class Compare : public testing::Test {
 protected:
  void train(const std::string& name, const Words& more = {}) {
    Output output = trainer(folder.run(
        name, test_mlp + Words{"steps=6", "log.hash_every_steps=2", "eval.every_epochs=0"} + more));
    ASSERT_EQ(output.code, 0) << output.err;
  }
  Output compare(const std::string& a, const std::string& b, const Words& more = {}) {
    return trainer(Words{"compare", (folder / a).string(), (folder / b).string()} + more);
  }

  RunFolder folder;
};

TEST_F(Compare, EqualRunsAreCodeZeroHoweverTheyRan) {
  train("a");
  train("b", {"--processes", "2"});
  Output output = compare("a", "b");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("configs: equal in all keys that change bits"));
  EXPECT_THAT(output.out, HasSubstr("6 recorded steps of both runs up to step 6 are equal, 3 of "
                                    "them with the weights"));
  EXPECT_THAT(output.out, HasSubstr("their chains are equal"));
  output = compare("a", "b", {"--bisect", "--set", "devices=cpu"});
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("the replays are equal, and confirm both records"));
}

TEST_F(Compare, OtherRunsAreCodeOneAndNameTheStep) {
  train("a");
  train("b", {"optimizer.momentum=0.5"});
  Output output = compare("a", "b");
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_THAT(output.out, HasSubstr("optimizer.momentum: 0.9 and 0.5"));
  EXPECT_THAT(output.out, HasSubstr("first recorded difference: step "));
  output = compare("a", "b", {"--bisect"});
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_THAT(output.out, HasSubstr("replayed both from their beginning"));
  EXPECT_THAT(output.out, HasSubstr("first difference: step "));
}

// Each has its last step in metrics.jsonl, which is another: the chains have all.
TEST_F(Compare, RunsWithoutRecordedStepsAreComparedByTheirChains) {
  train("a", {"steps=3", "log.every_steps=100", "log.hash_every_steps=0"});
  train("b", {"steps=4", "log.every_steps=100", "log.hash_every_steps=0", "optimizer.lr=0.01"});
  EXPECT_EQ(compare("a", "a").code, 0);
  Output output = compare("a", "b", {"--bisect"});
  EXPECT_EQ(output.code, 1) << output.err;
  EXPECT_THAT(output.out, HasSubstr("first recorded difference: step 1: the learning rate, "));
  EXPECT_THAT(output.out, HasSubstr("replayed both from their beginning"));
}

TEST_F(Compare, WhatIsNoRunIsCodeTwo) {
  train("a");
  EXPECT_EQ(compare("a", "none").code, 2);
  EXPECT_EQ(compare("a", "data").code, 2);
  EXPECT_EQ(trainer({"compare", (folder / "a").string()}).code, 2);
}

}  // namespace
}  // namespace spire

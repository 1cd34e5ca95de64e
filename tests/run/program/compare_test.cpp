// trainer compare, and the guard, in several processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
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

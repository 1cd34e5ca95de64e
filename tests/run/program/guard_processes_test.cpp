// The guard decides alike in all processes of a run.
#include <fstream>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/run/made_run.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

nlohmann::json summary_of(const MadeRuns& runs, const std::string& name) {
  std::ifstream file(runs / name / "summary.json");
  return nlohmann::json::parse(file);
}

TEST(GuardInProcesses, EndsWithTheSameBits) {
  MadeRuns runs;
  for (const char* answer : {"skip", "rollback"}) {
    Words words = {std::string("guard.on_bad_step=") + answer,
                   "guard.loss_zscore=20",
                   "guard.window=3",
                   "seed=3",
                   "checkpoint.every_steps=2",
                   "--overwrite"};
    Output alone = trainer(runs.words("alone", words));
    ASSERT_EQ(alone.code, 0) << alone.err;
    ASSERT_THAT(alone.err, testing::HasSubstr("warning: step "));
    Output two = trainer(runs.words("two", words + Words{"--processes", "2"}));
    ASSERT_EQ(two.code, 0) << two.err;
    EXPECT_EQ(summary_of(runs, "two")["parameter_hash"],
              summary_of(runs, "alone")["parameter_hash"])
        << answer;
  }
}

TEST(GuardInProcesses, TheFirstBadTensorIsNamedWhicheverRankHasIt) {
  MadeRuns runs;
  std::string line;
  for (const Words& processes : {Words{}, Words{"--processes", "2"}}) {
    Output output = trainer(runs.words(
        "run", Words{"optimizer.lr=1e30", "guard.loss_zscore=1e9", "--overwrite"} + processes));
    EXPECT_EQ(output.code, 7) << output.err;
    EXPECT_THAT(output.last_error_line(), testing::HasSubstr("first bad tensor: "));
    EXPECT_EQ(output.last_error_line(), line.empty() ? output.last_error_line() : line);
    line = output.last_error_line();
  }
}

// By default the weights are updated before the norm is known. The message then has a command,
// which is run here as it stands, from the last checkpoint or from the beginning.
TEST(Guard, TheCommandOfTheMessageNamesTheFirstBadTensor) {
  MadeRuns runs;
  for (const char* every : {"checkpoint.every_steps=0", "checkpoint.every_steps=1"}) {
    SCOPED_TRACE(every);
    // The checkpoints of the second run are in a folder whose name a shell has to have quoted.
    std::string name = every == std::string("checkpoint.every_steps=0") ? "run" : "it's a run";
    Output failed = trainer(
        runs.words(name, {"optimizer.lr=1e16", "checkpoint.every_epochs=0", every, "--overwrite"}));
    ASSERT_EQ(failed.code, 7) << failed.err;
    std::smatch found;
    std::string line = failed.last_error_line();
    ASSERT_TRUE(
        std::regex_search(line, found,
                          std::regex("step ([0-9]+): .*; this names the first bad tensor and its "
                                     "samples: trainer (.*? guard.loss_zscore=1e9);")))
        << line;
    auto before = summary_of(runs, name);
    Output shown =
        Program("/bin/sh", {"-c", std::string(TRAINER_PROGRAM) + " " + found[2].str()}).finish();
    EXPECT_EQ(shown.code, 7) << shown.err;
    EXPECT_THAT(
        shown.last_error_line(),
        testing::AllOf(testing::HasSubstr("step " + found[1].str() + ": the run diverged: "),
                       testing::HasSubstr("first bad tensor: ")));
    EXPECT_EQ(summary_of(runs, name), before) << "the run itself was changed";
  }
}

}  // namespace
}  // namespace spire

// The guard decides alike in all processes of a run.
#include <fstream>

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

}  // namespace
}  // namespace spire

// A run whose time is over. A variable tells it that it began years ago, so no test waits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/set_variable.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;

TEST(MaxTime, StopsAllRanksAtOneStepWithACheckpointThatGoesOn) {
  RunFolder folder;
  Words words = test_mlp + Words{"steps=6", "checkpoint.every_epochs=0", "max_time=1h"};
  std::string straight = printed_hash(trainer(folder.run("straight", words)));
  for (const Words& processes :
       {Words{}, Words{"--processes", "2"}, Words{"--max-restarts", "1"}}) {
    std::string name = processes.empty() ? "alone" : processes.front().substr(2);
    SCOPED_TRACE(name);
    int64_t steps = name == "processes" ? 2 : 1;  // the others learn of it in the next step
    Words run = folder.run(name, words + processes);
    {
      SetVariable begun("SPIRE_STARTED", "-1000000000000000000");
      Output stopped = trainer(run);
      EXPECT_EQ(stopped.code, 75) << stopped.err;
      EXPECT_THAT(stopped.err, HasSubstr(fmt::format("error[75]: stopped by max_time at step {}; "
                                                     "continue with --resume auto",
                                                     steps)));
    }
    EXPECT_EQ(folder.summary(name)["stopped_by"], "max_time");
    EXPECT_EQ(folder.summary(name)["exit"], 75);
    EXPECT_EQ(folder.checkpoints(name), std::vector<int64_t>{steps});
    {
      SetVariable begun("SPIRE_STARTED", "-1000000000000000000");  // each attempt gets on
      EXPECT_EQ(trainer(run + Words{"--resume", "auto"}).code, 75);
      EXPECT_EQ(folder.summary(name)["steps"], 2 * steps);
    }
    Output resumed = trainer(run + Words{"--resume", "auto"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    EXPECT_EQ(printed_hash(resumed), straight);
  }
}

}  // namespace
}  // namespace spire

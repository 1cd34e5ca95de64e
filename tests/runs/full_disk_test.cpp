// A disk that takes no checkpoint: training goes on, each failure is told, and the end says it.
// The system's limit on file sizes stands for the full disk: metrics fit below it, checkpoints not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/file_size_limit.h"
#include "tests/runs/run_folder.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// 145 x 512 weights and as much momentum: checkpoints of about 600 kB.
Words wide_run(const RunFolder& folder, const std::string& name) {
  return folder.run(name, Words{"model.name=mlp", "model.hidden=[512]", "optimizer.lr=0.05",
                                "steps=12", "checkpoint.every_steps=5"});
}

constexpr rlim_t size_limit = 200 << 10;

// At its end a run waits in case room is made; the signal says that nobody will.
TEST(FullDisk, TrainingGoesOnAndTheEndIsCodeFive) {
  RunFolder folder;
  std::string straight = printed_hash(trainer(wide_run(folder, "straight")));
  FileSizeLimit limit(size_limit);
  Program program(wide_run(folder, "run"));
  ASSERT_TRUE(program.wait_for("checkpoint of step 12 could not be written"));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_EQ(output.code, 5);
  EXPECT_THAT(output.err, ContainsRegex("warning: the checkpoint of step 5 could not be written: "
                                        "cannot write .*step_00000005.h5.tmp: File too large"));
  EXPECT_THAT(output.last_error_line(),
              HasSubstr("error[5]: the last checkpoint, of step 12, could not be written: "));
  EXPECT_EQ(printed_hash(output), straight);
  EXPECT_EQ(folder.summary("run")["steps"], 12);
  EXPECT_EQ(folder.summary("run")["exit"], 5);
  EXPECT_EQ(folder.summary("run")["checkpoint"], "");
  EXPECT_EQ(folder.checkpoints("run"), std::vector<int64_t>{});
  EXPECT_EQ(curve(folder.metrics("run")), curve(folder.metrics("straight")));
}

TEST(FullDisk, TheCheckpointFromBeforeStaysAndResumes) {
  RunFolder folder;
  std::string straight = printed_hash(trainer(wide_run(folder, "straight")));
  ASSERT_EQ(trainer(wide_run(folder, "run") + Words{"steps=5"}).code, 0);
  {
    FileSizeLimit limit(size_limit);
    Program program(wide_run(folder, "run") + Words{"--resume", "auto"});
    ASSERT_TRUE(program.wait_for("checkpoint of step 12 could not be written"));
    program.signal(SIGTERM);
    EXPECT_EQ(program.finish().code, 5);
  }
  EXPECT_EQ(folder.checkpoints("run"), std::vector<int64_t>{5});
  Output resumed = trainer(wide_run(folder, "run") + Words{"--resume", "auto"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(printed_hash(resumed), straight);
}

// Here the checkpoints, of some 30 kB, fit below the limit, and the lines of 600 steps do not.
TEST(FullDisk, MetricsLoseLinesAndTheRunItsCodeButNoStepAndNoCheckpoint) {
  RunFolder folder;
  Words words = test_mlp + Words{"steps=600", "checkpoint.every_epochs=20", "eval.every_epochs=0"};
  std::string straight = printed_hash(trainer(folder.run("straight", words)));
  FileSizeLimit limit(size_limit);
  Output output = trainer(folder.run("run", words));
  EXPECT_EQ(output.code, 5);
  EXPECT_THAT(output.err, ContainsRegex("cannot write .*metrics.jsonl: .*; training continues"));
  EXPECT_THAT(output.last_error_line(), ContainsRegex("metrics.jsonl lacks [0-9]+ lines"));
  EXPECT_EQ(printed_hash(output), straight);
  EXPECT_EQ(folder.checkpoints("run"), folder.checkpoints("straight"));
  std::vector<Json> lines = folder.metrics("run");  // throws where one is torn
  EXPECT_LT(lines.size(), folder.metrics("straight").size());
}

}  // namespace
}  // namespace spire

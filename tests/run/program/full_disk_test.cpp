// A disk that takes no checkpoint: training goes on, each failure is told, and the end says it.
// The shell's limit on file sizes stands for the full disk: metrics fit below it, checkpoints not.
// A write beyond it is also a signal, SIGXFSZ, that would end the program.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/under_conditions.h"

namespace spire {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

// 145 x 512 weights and as much momentum: checkpoints of about 600 kB.
Words wide_run(const RunFolder& folder, const std::string& name) {
  return folder.run(name, Words{"model.name=mlp", "model.hidden=[512]", "optimizer.lr=0.05",
                                "steps=12", "checkpoint.every_steps=5"});
}

const std::string full = "ulimit -f 200;";  // KiB

// At its end a run waits in case room is made; the signal says that nobody will.
TEST(FullDisk, TrainingGoesOnAndTheEndIsCodeThree) {
  RunFolder folder;
  std::string straight = printed_hash(trainer(wide_run(folder, "straight")));
  Program program("/bin/bash", in_shell(full, "", wide_run(folder, "run")));
  ASSERT_TRUE(program.wait_for("checkpoint of step 12 could not be written"));
  program.signal(SIGTERM);
  Output output = program.finish();
  EXPECT_THAT(output.err, ContainsRegex("warning: the checkpoint of step 5 could not be written: "
                                        "cannot write .*step_00000005.h5.tmp: File too large"));
  EXPECT_THAT(output.last_error_line(),
              HasSubstr("error[3]: the last checkpoint, of step 12, could not be written: "));
  EXPECT_EQ(printed_hash(output, 3), straight);
  EXPECT_EQ(folder.summary("run")["steps"], 12);
  EXPECT_EQ(folder.summary("run")["exit"], 3);
  EXPECT_EQ(folder.summary("run")["checkpoint"], "");
  EXPECT_EQ(folder.checkpoints("run"), std::vector<int64_t>{});
  EXPECT_EQ(curve(folder.metrics("run")), curve(folder.metrics("straight")));
}

TEST(FullDisk, TheCheckpointFromBeforeStaysAndResumes) {
  RunFolder folder;
  std::string straight = printed_hash(trainer(wide_run(folder, "straight")));
  ASSERT_EQ(trainer(wide_run(folder, "run") + Words{"steps=5"}).code, 0);
  Program program("/bin/bash",
                  in_shell(full, "", wide_run(folder, "run") + Words{"--resume", "auto"}));
  ASSERT_TRUE(program.wait_for("checkpoint of step 12 could not be written"));
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().code, 3);
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
  Output output = end_of(full, "", folder.run("run", words)).output;
  EXPECT_THAT(output.err, ContainsRegex("cannot write .*metrics.jsonl: .*; training continues"));
  EXPECT_THAT(output.last_error_line(), ContainsRegex("metrics.jsonl lacks [0-9]+ lines"));
  EXPECT_EQ(printed_hash(output, 3), straight);
  EXPECT_EQ(folder.checkpoints("run"), folder.checkpoints("straight"));
  std::vector<Json> lines = folder.metrics("run");  // throws where one is torn
  EXPECT_LT(lines.size(), folder.metrics("straight").size());
}

// Each writes more than a KiB.
TEST(FullDisk, ALimitOnFileSizesIsNamedByEachCommandThatWrites) {
  RunFolder folder;
  ASSERT_EQ(trainer(folder.run("run", test_mlp + Words{"epochs=1"})).code, 0);
  auto path = [&](const char* name) { return (folder / name).string(); };
  const Words of_run = {"--checkpoint", path("run")};
  struct {
    Words words;
    std::string streams;
  } commands[] = {{Words{"predict"} + of_run + Words{"--to", path("p.csv")}, ""},
                  {Words{"predict"} + of_run, "> " + path("stdout")},
                  {Words{"export"} + of_run + Words{"--to", path("m.onnx")}, ""},
                  {Words{"export"} + of_run + Words{"--to", path("m.safetensors")}, ""},
                  {Words{"export"} + of_run + Words{"--to", path("m.npz")}, ""},
                  {Words{"report", path("run"), "--to", path("r.html")}, ""}};
  for (const auto& [words, streams] : commands) {
    Output output = end_of("ulimit -f 1;", streams, words).output;
    EXPECT_EQ(output.code, 3) << words[0] << output.err;
    EXPECT_THAT(output.last_error_line(),
                HasSubstr("this process may write files of 1024 bytes (ulimit -f)"));
  }
}

}  // namespace
}  // namespace spire

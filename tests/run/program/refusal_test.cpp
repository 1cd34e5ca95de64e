// Runs that cannot be: exit code, message, and a run directory that stays as it was.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

struct Refusal {
  std::string name;
  Words words;  // beside those of the run that is there
  int code;
  std::string message;
  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.message; }
};

class Refusals : public testing::TestWithParam<Refusal> {
 protected:
  Words words(const std::string& name, const Words& more) const {
    return folder.run(name, test_mlp + Words{"steps=6", "checkpoint.every_steps=3"} + more);
  }
  void expect_refused(const Output& output) {
    EXPECT_EQ(output.code, GetParam().code) << output.err;
    EXPECT_EQ(output.out, "");
    EXPECT_THAT(output.last_error_line(),
                StartsWith("error[" + std::to_string(GetParam().code) + "]: "));
    EXPECT_THAT(output.last_error_line(), HasSubstr(GetParam().message));
  }

  RunFolder folder;
};

// Path and content of every file below `root`.
std::map<std::string, std::string> contents(const fs::path& root) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_regular_file()) files[entry.path().string()] = content_of(entry.path());
  }
  return files;
}

class ResumeRefusals : public Refusals {};

TEST_P(ResumeRefusals, LeaveTheRunAsItWas) {
  ASSERT_EQ(trainer(words("run", {})).code, 0);
  auto before = contents(folder / "run");
  expect_refused(trainer(words("run", GetParam().words)));
  EXPECT_EQ(contents(folder / "run"), before);
}

INSTANTIATE_TEST_SUITE_P(
    TowerTrainer, ResumeRefusals,
    testing::Values(
        Refusal{"NeitherResumedNorOverwritten",
                {},
                2,
                "is not empty; continue the run with --resume auto"},
        Refusal{"AnotherSeed", {"--resume", "auto", "--seed", "8"}, 2, "seed: 8, but the run of"},
        Refusal{"OtherTowers", {"--resume", "auto", "towers=2"}, 2, "towers: 2, but the run of"},
        Refusal{"AnotherBatch", {"--resume", "auto", "batch_size=4"}, 2, "batch_size: 4, but the"},
        Refusal{
            "OtherThreads", {"--resume", "auto", "tower_threads=2"}, 2, "tower_threads: 2, but"},
        Refusal{"AnotherModel",
                {"--resume", "auto", "model.hidden=[17]"},
                5,
                "use the config of its run, or another checkpoint"},
        Refusal{"AnotherKindOfModel",
                {"--resume", "auto", "model.name=cnn"},
                5,
                "use the config of its run, or another checkpoint"},
        Refusal{"AnotherOptimizer",
                {"--resume", "auto", "optimizer.name=adam"},
                5,
                "no optimizer state 'm'; use the optimizer of its run"},
        Refusal{"OtherFrozen",
                {"--resume", "auto", "freeze=[dense1.*]"},
                5,
                "start a new run from its weights with init.from"},
        Refusal{"OtherFrozenInTwoProcesses",
                {"--resume", "auto", "freeze=[dense1.*]", "--processes", "2"},
                5,
                "resume with the freeze of its run"},
        Refusal{"NoSuchCheckpoint", {"--resume", "nowhere.h5"}, 5, "nowhere.h5: nothing is there"},
        Refusal{"NoCheckpoint", {"--resume", TRAINER_PROGRAM}, 5, "is not a Spire checkpoint"},
        Refusal{"OverwriteWithoutData", {"--overwrite", "data.path=/nowhere"}, 4, "/nowhere/train"},
        Refusal{"OverwriteOnNoDevice", {"--overwrite", "devices=cuda:0"}, 3, "use cpu or auto"}),
    [](const auto& test) { return test.param.name; });

class StartRefusals : public Refusals {};

TEST_P(StartRefusals, MakeNoDirectory) {
  expect_refused(trainer(words("run", GetParam().words)));
  EXPECT_FALSE(fs::exists(folder / "run"));
  expect_refused(trainer(words("run", GetParam().words + Words{"--check"})));
}

INSTANTIATE_TEST_SUITE_P(
    TowerTrainer, StartRefusals,
    testing::Values(
        Refusal{"Gpu", {"devices=cuda:0"}, 3, "cuda:0: no CUDA device is available: "},
        Refusal{"HalfPrecision", {"precision=fp16"}, 3, "precision: fp16 is not supported on CPUs"},
        Refusal{"NoData", {"data.path=/nowhere"}, 4, "/nowhere/train-images"},
        Refusal{"DevicesWithoutTowers", {"devices=8xcpu"}, 2, "8 devices but only 4 towers"},
        Refusal{"AnotherSizeInEvaluations",
                {"data.image.eval_size=16"},
                2,
                "data.image.eval_size: 'dense1.weight' has shape"},
        Refusal{"NothingLeft",
                {"batch_size=100", "data.last_batch=drop"},
                2,
                "data.last_batch: drop leaves no batch"},
        Refusal{"TooLittleMemory",
                {"memory.limit=10KiB"},
                6,
                "memory.limit allows 10.0 KiB, of which 0 B is in use; "},
        Refusal{
            "NoAmountOfMemory", {"memory.limit=much"}, 2, "memory.limit: 'much' is not an amount"},
        Refusal{"NoSuchParameterDevice",
                {"parameter_device=cpu:5"},
                2,
                "parameter_device: cpu:5 is not one of the run's devices; use one of cpu:0"}),
    [](const auto& test) { return test.param.name; });

TEST(Divergence, EndsWithCodeSevenAndSaysWhatToDo) {
  RunFolder folder;
  Words words =
      folder.run("run", test_mlp + Words{"loss.name=mse", "optimizer.lr=1e30", "steps=20"});
  Output output = trainer(words);
  EXPECT_EQ(output.code, 7);
  EXPECT_THAT(output.last_error_line(),
              testing::ContainsRegex("step [0-9]+: the run diverged: the loss is (-?inf|nan)"));
  EXPECT_THAT(output.last_error_line(), HasSubstr("lower optimizer.lr"));
  EXPECT_EQ(folder.summary("run")["exit"], 7);
  EXPECT_THAT(folder.summary("run")["stopped_by"].get<std::string>(), HasSubstr("the loss is"));
}

}  // namespace
}  // namespace spire

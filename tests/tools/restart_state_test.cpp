// What a restart depends on: the state of a run's directory after an early death; arguments and
// variables of a run on the GPUs that are left.
#include "tools/train/restart_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/base/write_file.h"
#include "tests/tools/program.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const ResumeOptions resume_auto{"auto", false};

class RunDirStateTest : public testing::Test {
 protected:
  std::string output() const { return folder_ / "run"; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::path path = output() + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    write_file_atomically(path, text, Category::config);
  }
  WorkFolder folder_;
};

TEST_F(RunDirStateTest, ANewDirectoryIsTheRunsOwnFromTheStart) {
  RunDirState state(output());
  EXPECT_TRUE(state.begun());
  EXPECT_FALSE(state.has_checkpoint());
  EXPECT_EQ(options_for_restart({}, state), resume_auto);
  write("checkpoints/step_00000005.h5", "");
  EXPECT_TRUE(state.has_checkpoint());
}

TEST_F(RunDirStateTest, AnotherRunsDirectoryIsLeftAlone) {
  write("config.yaml", "seed: 1\n");
  write("checkpoints/step_00000005.h5", "");
  RunDirState state(output());
  EXPECT_FALSE(state.begun());
  for (const ResumeOptions& given :
       {ResumeOptions{}, ResumeOptions{{}, true}, resume_auto, ResumeOptions{"other.h5", true}})
    EXPECT_EQ(options_for_restart(given, state), given);
}

TEST_F(RunDirStateTest, ADirectoryWithoutARunIsLeftAlone) {
  write("thesis.tex", "all of it");
  RunDirState state(output());
  EXPECT_FALSE(state.begun());
  EXPECT_EQ(options_for_restart({}, state), ResumeOptions{});
}

TEST_F(RunDirStateTest, ARewrittenConfigShowsThatTheRunBegan) {
  write("config.yaml", "seed: 1\n");
  RunDirState state(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_TRUE(state.begun());
  EXPECT_EQ(options_for_restart({{}, true}, state), resume_auto);
}

TEST_F(RunDirStateTest, ABranchGoesBackToItsSourceUntilItHasACheckpoint) {
  RunDirState state(output());
  write("config.yaml", "seed: 1\n");
  EXPECT_EQ(options_for_restart({"other/step_00000005.h5", false}, state),
            (ResumeOptions{"other/step_00000005.h5", true}));
  write("checkpoints/step_00000005.h5", "");
  EXPECT_EQ(options_for_restart({"other/step_00000005.h5", false}, state), resume_auto);
}

const std::vector<CudaDeviceInfo> four_gpus = [] {
  std::vector<CudaDeviceInfo> gpus;
  for (int i = 0; i < 4; ++i)
    gpus.push_back(
        {.index = i, .name = "H100", .uuid = "GPU-" + std::to_string(i), .pci_bus_id = ""});
  return gpus;
}();

GpuChoice without(std::vector<int> lost, std::vector<std::string> devices,
                  const std::string& parameter_device = "auto") {
  RunConfig config;
  config.devices = std::move(devices);
  config.parameter_device = parameter_device;
  std::vector<CudaDeviceInfo> gpus;
  for (int index : lost) gpus.push_back(four_gpus[static_cast<size_t>(index)]);
  return leave_out(four_gpus, gpus, config);
}

std::string visible(const GpuChoice& choice) {
  if (choice.variables.empty()) return "all";
  EXPECT_EQ(choice.variables.size(), 1u);
  EXPECT_EQ(choice.variables[0].name, "CUDA_VISIBLE_DEVICES");
  return choice.variables[0].value;
}

TEST(LeaveOut, AllGpusAreThoseThatAreLeft) {
  for (const char* word : {"cuda", "auto"}) {
    GpuChoice choice = without({1}, {word});
    EXPECT_EQ(visible(choice), "GPU-0,GPU-2,GPU-3");
    EXPECT_THAT(choice.words, IsEmpty());
    EXPECT_EQ(choice.left, 3);
  }
}

TEST(LeaveOut, NamedDevicesMoveWithTheirGpus) {
  GpuChoice choice = without({1}, {"cuda:0", "cuda:1", "cuda:3"});
  EXPECT_EQ(visible(choice), "GPU-0,GPU-2,GPU-3");
  EXPECT_THAT(choice.words, ElementsAre("devices=[cuda:0, cuda:2]"));
  EXPECT_EQ(choice.left, 2);
  choice = without({0, 2}, {"cuda:3", "cuda:1", "cuda:3"});
  EXPECT_EQ(visible(choice), "GPU-1,GPU-3");
  EXPECT_THAT(choice.words, ElementsAre("devices=[cuda:1, cuda:0, cuda:1]"));
}

TEST(LeaveOut, UuidsAndIdleGpusToo) {
  GpuChoice choice = without({1}, {"GPU-3", "GPU-1"}, "GPU-3");
  EXPECT_THAT(choice.words, ElementsAre("devices=[cuda:2]", "parameter_device=cuda:2"));
  EXPECT_EQ(choice.left, 1);
  EXPECT_THAT(without({1}, {"auto:4"}).words, ElementsAre("devices=auto:3"));
  EXPECT_THAT(without({1}, {"4xcuda"}).words, ElementsAre("devices=3xcuda"));
  for (const char* word : {"auto:2", "2xcuda"}) EXPECT_THAT(without({1}, {word}).words, IsEmpty());
}

TEST(LeaveOut, TheParameterDeviceMovesOrIsChosenAnew) {
  EXPECT_THAT(without({0}, {"cuda"}, "cuda:2").words, ElementsAre("parameter_device=cuda:1"));
  EXPECT_THAT(without({2}, {"cuda"}, "cuda:2").words, ElementsAre("parameter_device=auto"));
  EXPECT_THAT(without({2}, {"cuda"}, "cpu").words, IsEmpty());
}

TEST(LeaveOut, NothingChangesWhereNothingIsLostOrLeft) {
  for (const GpuChoice& choice : {without({}, {"cuda"}), without({}, {"cuda:1"}),
                                  without({0, 1, 2, 3}, {"cuda"}), without({2}, {"cuda:2"})}) {
    EXPECT_EQ(visible(choice), "all");
    EXPECT_THAT(choice.words, IsEmpty());
  }
}

TEST(LeaveOut, RunsOnCpusHaveNone) {
  RunConfig config;
  for (const char* word : {"cpu", "cpu:4"}) {
    config.devices = {word};
    EXPECT_FALSE(may_use_gpus(config));
  }
  for (const char* word : {"auto", "cuda", "cuda:3", "auto:2", "GPU-3", "3b:00.0"}) {
    config.devices = {word};
    EXPECT_TRUE(may_use_gpus(config));
  }
}

}  // namespace
}  // namespace spire

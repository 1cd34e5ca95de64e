// Arguments and variables of a run that restarts on the GPUs that are left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/train/restart_conditions.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

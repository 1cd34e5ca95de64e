#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scripted_nvml/scripted_machine.h"
#include "tests/tools/program.h"
#include "tools/devices/devices.h"

namespace spire {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

json gpu(const char* more) {
  json machine = {{"name", "NVIDIA Test"},
                  {"uuid", "GPU-1"},
                  {"pci", "00000000:3B:00.0"},
                  {"memory_mib", {{"total", 81920}, {"reserved", 1024}, {"used", 30720}}}};
  machine.update(json::parse(more));
  return machine;
}

TEST(GpuMemoryLines, SayWhatIsFreeAndWhoUsesTheRest) {
  ScriptedMachine machine(
      {{"driver", "550.1"},
       {"gpus",
        {gpu(R"({"processes": [{"pid": 5000001, "mib": 20480}, {"pid": 5000002}]})"),
         gpu(R"({"processes": []})"),
         gpu(R"({"returns": {"nvmlDeviceGetComputeRunningProcesses_v3": 4}})"),
         gpu(R"({"lost": true})")}}});
  std::vector<std::string> lines = gpu_memory_lines(GpuMonitor());
  EXPECT_THAT(lines, ElementsAre("gpu 0   NVIDIA Test, PCI 0000:3b:00.0, GPU-1; 80.0 GiB, 30.0 GiB "
                                 "used, 49.0 GiB free: process 5000001 20.0 GiB, "
                                 "process 5000002",
                                 "gpu 1   NVIDIA Test, PCI 0000:3b:00.0, GPU-1; 80.0 GiB, 30.0 GiB "
                                 "used, 49.0 GiB free: nobody computes on it",
                                 "gpu 2   NVIDIA Test, PCI 0000:3b:00.0, GPU-1; 80.0 GiB, 30.0 GiB "
                                 "used, 49.0 GiB free: the driver does not tell who "
                                 "uses it",
                                 StartsWith("gpu 3   ")));
  EXPECT_THAT(lines[3], testing::Not(HasSubstr("free")));
}

// NVML is asked at each call: nothing is remembered.
TEST(GpuMemoryLines, AreOfNow) {
  ScriptedMachine machine({{"driver", "550.1"}, {"gpus", {gpu(R"({"processes": []})")}}});
  GpuMonitor monitor;
  EXPECT_THAT(gpu_memory_lines(monitor)[0], HasSubstr("30.0 GiB used"));
  machine.gpu(0)["memory_mib"]["used"] = 10240;
  machine.write();
  EXPECT_THAT(gpu_memory_lines(monitor)[0], HasSubstr("10.0 GiB used"));
}

TEST(GpuMemoryLines, ShowPartsOfAGpuWithTheirOwnProcesses) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  std::vector<std::string> lines = gpu_memory_lines(GpuMonitor());
  ASSERT_EQ(lines.size(), 10u);  // eight GPUs, one of them with two MIG devices
  EXPECT_THAT(lines[2], testing::EndsWith("in 2 MIG devices"));
  EXPECT_THAT(lines[3], AllOf(StartsWith("        MIG 0 ("), HasSubstr(", MIG-aaaa")));
  EXPECT_THAT(lines[4], StartsWith("        MIG 1 ("));
}

// Also of those that CUDA hides: that says nothing of the host.
TEST(Devices, ListsAllGpusOfTheHostByNameAndMemory) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  SetVariable hidden("CUDA_VISIBLE_DEVICES", "");
  Output output = expect_success(trainer({"devices"}));
  EXPECT_THAT(output.out, HasSubstr("\ngpu 1   NVIDIA H100 80GB HBM3, PCI 0000:2a:00.0, "
                                    "GPU-22220000-0000-4000-8000-000000000002; 79.6 GiB, 69.3 GiB "
                                    "used, 9.7 GiB free: process "
                                    "5000001 39.1 GiB, process 5000002 29.8 GiB\n"));
}

}  // namespace
}  // namespace spire

// The list of devices: the host's CPU, and GPUs as NVML tells them, on a machine whose CUDA shows
// none of them. tests/emulation has those that CUDA shows.
#include <gmock/gmock.h>

#include <spire/devices.h>

#include "tests/scripted_nvml/scripted_machine.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::Field;
using testing::HasSubstr;

TEST(DeviceList, BeginsWithTheCpuAndItsMemory) {
  ListedDevice cpu = list_devices().front();
  EXPECT_EQ(cpu.id, "cpu");
  EXPECT_EQ(cpu.host_number, -1);
  EXPECT_THAT(cpu.name, HasSubstr(" core"));
  ASSERT_TRUE(cpu.memory_total && cpu.memory_used && cpu.memory_free);
  EXPECT_EQ(*cpu.memory_used + *cpu.memory_free, *cpu.memory_total);
  EXPECT_EQ(cpu.problem, "");
}

TEST(DeviceList, HasAllGpusOfTheHostAlsoHiddenAndLostOnes) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  std::vector<ListedDevice> devices = list_devices();
  ASSERT_EQ(devices.size(), 9u);
  const ListedDevice& busy = devices[2];
  EXPECT_EQ(busy.id, "");
  EXPECT_EQ(busy.host_number, 1);
  EXPECT_EQ(busy.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(busy.uuid, "GPU-22220000-0000-4000-8000-000000000002");
  EXPECT_EQ(busy.pci_bus_id, "0000:2a:00.0");
  constexpr uint64_t mib = 1 << 20;
  auto memory = machine.gpu(1)["memory_mib"];
  auto total = memory["total"].get<uint64_t>(), used = memory["used"].get<uint64_t>();
  EXPECT_EQ(busy.memory_total, total * mib);
  EXPECT_EQ(busy.memory_used, used * mib);
  EXPECT_EQ(busy.memory_free, (total - used - memory["reserved"].get<uint64_t>()) * mib);
  EXPECT_EQ(busy.utilization, 0.01 * machine.gpu(1)["compute_percent"].get<int>());
  EXPECT_EQ(busy.problem, "");
  EXPECT_THAT(devices[4], AllOf(Field(&ListedDevice::host_number, 3),
                                Field(&ListedDevice::problem, testing::Not(""))));
}

TEST(DeviceList, IsOfNow) {
  ScriptedMachine machine(ScriptedMachine::eight_gpus());
  machine.gpu(1)["memory_mib"]["used"] = 7;
  machine.write();
  EXPECT_EQ(list_devices()[2].memory_used, 7u << 20);
}

}  // namespace
}  // namespace spire

#include "engine/device/visible_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spire {
namespace {

using testing::HasSubstr;

HostGpu gpu(const std::string& uuid, const std::vector<std::string>& mig = {}) {
  HostGpu gpu;
  gpu.uuid = uuid;
  for (const std::string& device : mig) gpu.mig_devices.emplace_back().uuid = device;
  return gpu;
}

const std::vector<HostGpu> plain = {gpu("GPU-aa00"), gpu("GPU-ab11"), gpu("GPU-bc22")};
const std::vector<HostGpu> machine = {plain[0], plain[1], plain[2],
                                      gpu("GPU-cd33", {"MIG-0a", "MIG-0b"})};

struct Row {
  std::string value;
  std::vector<std::string> shown;
  std::string warning = {};  // a part of it
};

class VisibleGpuRows : public testing::TestWithParam<Row> {};

TEST_P(VisibleGpuRows, AreWhatCudaShows) {
  VisibleGpus visible = visible_gpus(GetParam().value, machine);
  EXPECT_EQ(visible.uuids, GetParam().shown);
  EXPECT_EQ(visible.warning.empty(), GetParam().warning.empty());
  EXPECT_THAT(visible.warning, HasSubstr(GetParam().warning));
}

INSTANTIATE_TEST_SUITE_P(
    Forms, VisibleGpuRows,
    testing::Values(
        Row{"0", {"GPU-aa00"}}, Row{"2,0", {"GPU-bc22", "GPU-aa00"}},
        Row{" 1 , 2", {"GPU-ab11", "GPU-bc22"}}, Row{"GPU-bc22", {"GPU-bc22"}},
        Row{"GPU-b,0", {"GPU-bc22", "GPU-aa00"}}, Row{"", {}}, Row{"-1", {}},
        Row{"0,-1,1", {"GPU-aa00"}, "'-1' and all behind it: this machine has GPUs 0 to 3"},
        Row{"0,7,1", {"GPU-aa00"}, "'7' and all behind it: this machine has GPUs 0 to 3"},
        Row{"1,1", {"GPU-ab11"}, "'1' and all behind it: it is listed twice"},
        Row{"1,GPU-ab", {"GPU-ab11"}, "it is listed twice"},
        Row{"GPU-a", {}, "2 GPUs have a UUID that begins so"},
        Row{"GPU-ff,0", {}, "no GPU of this machine has that UUID"},
        Row{"none", {}, "'none' and all behind it: it is neither a number nor a UUID"},
        Row{"0,", {"GPU-aa00"}, "''"}, Row{"3", {"MIG-0a"}}, Row{"MIG-0b", {"MIG-0b"}},
        Row{"GPU-cd33", {"MIG-0a"}}, Row{"0,3", {"MIG-0a"}}, Row{"MIG-0", {}, "2 GPUs"}));

TEST(VisibleGpus, AreAllWithoutTheVariable) {
  EXPECT_EQ(visible_gpus({}, plain).uuids,
            (std::vector<std::string>{"GPU-aa00", "GPU-ab11", "GPU-bc22"}));
  EXPECT_EQ(visible_gpus({}, machine).uuids, std::vector<std::string>{"MIG-0a"});
}

TEST(VisibleGpus, CudaCountsNoGpuInMigModeWithoutMigDevices) {
  std::vector<HostGpu> gpus = plain;
  gpus[0].mig = true;
  gpus[2].mig = false;
  EXPECT_EQ(visible_gpus("1", gpus_counted_by_cuda(gpus)).uuids,
            std::vector<std::string>{"GPU-bc22"});
  EXPECT_EQ(visible_gpus({}, gpus_counted_by_cuda(gpus)).uuids,
            (std::vector<std::string>{"GPU-ab11", "GPU-bc22"}));
  EXPECT_THAT(visible_gpus("GPU-aa00", gpus_counted_by_cuda(gpus)).warning, HasSubstr("no GPU"));
}

TEST(VisibleGpus, AreNoneOnAMachineWithoutGpus) {
  VisibleGpus visible = visible_gpus("0", {});
  EXPECT_TRUE(visible.uuids.empty());
  EXPECT_EQ(visible.warning, "");
}

}  // namespace
}  // namespace spire

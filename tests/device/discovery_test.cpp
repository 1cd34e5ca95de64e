// Tests CUDA discovery in a build and on a machine, and addresses of GPUs. There are four cases: no
// CUDA in the build, no driver, no device, or devices.
#include <filesystem>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "engine/device/gpu_requirements.h"

namespace spire {
namespace {

bool machine_has_driver() {
  return std::filesystem::exists("/proc/driver/nvidia/version");
}

TEST(CudaDiscovery, BuiltAgreesWithTheOptionOfTheBuild) {
  EXPECT_EQ(discover_cuda().built, SPIRE_BUILT_WITH_CUDA == 1);
}

TEST(CudaDiscovery, HasDevicesOrTheReasonForNone) {
  CudaStatus status = discover_cuda();
  EXPECT_EQ(status.devices.empty(), !status.why_none.empty()) << status.why_none;
}

TEST(CudaDiscovery, VersionsAreKnownExactlyWhenBuilt) {
  auto versions = cuda_versions();
  ASSERT_EQ(versions.has_value(), discover_cuda().built);
  if (!versions) return;
  EXPECT_GE(versions->toolkit, (Version{12, 0, 0}));
  bool opened = !discover_cuda().devices.empty();
  for (const LibraryVersion& library : {versions->cudnn, versions->nccl, versions->cublas}) {
    EXPECT_TRUE(library.built);
    EXPECT_EQ(library.found.major, opened ? library.built.major : 0);
    EXPECT_EQ(library.why_not, "");
  }
  EXPECT_EQ(versions->cudnn_cuda.major, opened ? versions->toolkit.major : 0);
  EXPECT_NE(describe_architectures(versions->architectures), "");
}

// The machine that made the build has the versions of the build.
TEST(CudaDiscovery, TheMachineOfTheBuildHasNoProblems) {
  auto versions = cuda_versions();
  if (!versions || discover_cuda().devices.empty()) return;
  EXPECT_EQ(version_problems(*versions), std::vector<std::string>{});
  for (const CudaDeviceInfo& device : discover_cuda().devices) {
    EXPECT_EQ(code_problem(*versions, device), std::nullopt);
    expect_usable_gpu(device.index);
  }
}

TEST(CudaDiscovery, NoDriverMeansNoDeviceAndSaysSo) {
  CudaStatus status = discover_cuda();
  if (machine_has_driver()) return;  // the other tests cover this case
  EXPECT_TRUE(status.devices.empty());
  if (auto versions = cuda_versions()) {
    EXPECT_FALSE(versions->driver_cuda);
  }
  std::string reason =
      status.built ? "no NVIDIA driver was found" : "this build has no CUDA support";
  EXPECT_NE(status.why_none.find(reason), std::string::npos) << status.why_none;
}

TEST(CudaDiscovery, DevicesHaveAscendingIndicesAndDistinctNames) {
  CudaStatus status = discover_cuda();
  std::set<std::string> uuids, buses;
  int next = 0;
  for (const CudaDeviceInfo& device : status.devices) {
    EXPECT_EQ(device.index, next++);
    EXPECT_FALSE(device.name.empty());
    EXPECT_GT(device.total_bytes, size_t{1} << 28);
    EXPECT_GE(device.compute_major, 5);
    EXPECT_TRUE(
        std::regex_match(device.uuid, std::regex("GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")))
        << device.uuid;
    EXPECT_TRUE(uuids.insert(device.uuid).second) << device.uuid;
    EXPECT_TRUE(buses.insert(device.pci_bus_id).second) << device.pci_bus_id;
  }
}

TEST(CudaDiscovery, ASecondDiscoveryIsEqual) {
  CudaStatus first = discover_cuda(), second = discover_cuda();
  EXPECT_EQ(first.why_none, second.why_none);
  ASSERT_EQ(first.devices.size(), second.devices.size());
  for (size_t i = 0; i < first.devices.size(); ++i) {
    EXPECT_EQ(first.devices[i].uuid, second.devices[i].uuid);
  }
}

TEST(PciBusId, HasOneFormForAllWaysToWriteIt) {
  for (const char* text : {"0000:3b:00.0", "0000:3B:00.0", "00000000:3B:00.0", "3b:00.0", "3B:00",
                           "0:3b:0.0", "00000000:3b:00"})
    EXPECT_EQ(normal_pci_bus_id(text), "0000:3b:00.0") << text;
  EXPECT_EQ(normal_pci_bus_id("0001:00:1F.7"), "0001:00:1f.7");
  EXPECT_EQ(normal_pci_bus_id("47505500:00:00.0"), "47505500:00:00.0");  // a virtual machine's
}

TEST(PciBusId, IsEmptyForOtherTexts) {
  for (const char* text : {"", "0", "3b", ":", "3b:", ":00", "3b:00.", "3b:00.8", "3b:20.0",
                           "3b:00.0 ", " 3b:00.0", "0000:3b:00.0:1", "000000000:3b:00.0",
                           "0000:13b:00.0", "GPU-1b2c3d4e", "-1:3b:00.0", "0x3b:00.0", "cuda:0.0"})
    EXPECT_EQ(normal_pci_bus_id(text), "") << text;
}

}  // namespace
}  // namespace spire

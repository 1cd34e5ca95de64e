// What a build and a machine say about CUDA. Every machine is in one of the cases: no CUDA in the
// build, no driver, no device, or devices; each has its own promises.
#include <gtest/gtest.h>
#include <spire/device/device.h>

#include <filesystem>
#include <regex>
#include <set>

namespace spire {
namespace {

bool is_version(const std::string& text) {
  return std::regex_match(text, std::regex(R"([1-9]\d*(\.\d+){1,2})"));
}

bool machine_has_driver() {
  return std::filesystem::exists("/proc/driver/nvidia/version");
}

TEST(CudaDiscovery, BuiltIsWhatTheBuildChose) {
  EXPECT_EQ(discover_cuda().built, SPIRE_BUILT_WITH_CUDA == 1);
}

TEST(CudaDiscovery, EitherDevicesOrTheReasonWhyNone) {
  CudaStatus status = discover_cuda();
  EXPECT_EQ(status.devices.empty(), !status.why_none.empty()) << status.why_none;
}

TEST(CudaDiscovery, VersionsAreKnownExactlyWhenBuilt) {
  CudaStatus status = discover_cuda();
  for (const std::string& version : {status.toolkit, status.cudnn, status.nccl, status.cublas}) {
    EXPECT_EQ(is_version(version), status.built) << "'" << version << "'";
    EXPECT_EQ(version.empty(), !status.built) << version;
  }
}

TEST(CudaDiscovery, NoDriverMeansNoDeviceAndSaysSo) {
  CudaStatus status = discover_cuda();
  if (machine_has_driver()) return;  // then the other tests speak
  EXPECT_TRUE(status.devices.empty());
  EXPECT_TRUE(status.driver.empty()) << status.driver;
  std::string reason = status.built ? "driver not found" : "this build has no CUDA";
  EXPECT_NE(status.why_none.find(reason), std::string::npos) << status.why_none;
}

TEST(CudaDiscovery, DevicesAreNumberedInOrderAndToldApart) {
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

TEST(CudaDiscovery, AskingAgainGivesTheSame) {
  CudaStatus first = discover_cuda(), second = discover_cuda();
  EXPECT_EQ(first.why_none, second.why_none);
  EXPECT_EQ(first.driver, second.driver);
  ASSERT_EQ(first.devices.size(), second.devices.size());
  for (size_t i = 0; i < first.devices.size(); ++i) {
    EXPECT_EQ(first.devices[i].uuid, second.devices[i].uuid);
  }
}

}  // namespace
}  // namespace spire

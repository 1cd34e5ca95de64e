#include <gtest/gtest.h>
#include <spire/base/error.h>
#include <spire/device/buffer.h>
#include <spire/device/topology.h>

#include <numeric>

namespace spire {
namespace {

TEST(Topology, HasAtLeastOneCoreAndNoMoreThanTheMachine) {
  Topology topology = discover_topology();
  ASSERT_GE(topology.cores.size(), 1u);
  EXPECT_LE(static_cast<int>(topology.cores.size()), topology.online);
}

TEST(Topology, DevicesShareAllCoresWithoutOverlap) {
  std::vector<int> cores(11);
  std::iota(cores.begin(), cores.end(), 5);
  for (int count = 1; count <= 11; ++count) {
    std::vector<int> together;
    for (int i = 0; i < count; ++i) {
      auto part = cores_of_device(cores, i, count);
      EXPECT_LE(part.size(), static_cast<size_t>(11 / count + 1));
      together.insert(together.end(), part.begin(), part.end());
    }
    EXPECT_EQ(together, cores) << count << " devices";
  }
}

TEST(Topology, MoreDevicesThanCoresShareThem) {
  EXPECT_EQ(cores_of_device({3, 4}, 5, 8), (std::vector<int>{4}));
}

TEST(Device, ParsesAndPrints) {
  EXPECT_EQ(parse_device("cuda:3"), (DeviceId{DeviceKind::cuda, 3}));
  EXPECT_EQ(parse_device("cpu"), (DeviceId{DeviceKind::cpu, 0}));
  EXPECT_EQ(to_string(parse_device("cpu:12")), "cpu:12");
  for (const char* bad : {"", "gpu:0", "cuda:", "cuda:x", "cuda:-1", "cpu:1x", "cpu:99999999999"})
    EXPECT_THROW(parse_device(bad), Error) << bad;
}

TEST(Buffer, IsAlignedAndZeroed) {
  Buffer buffer(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0u);
  for (size_t i = 0; i < 1000; ++i) ASSERT_EQ(buffer.data()[i], std::byte{0});
}

TEST(Buffer, ImpossibleSizeIsOutOfMemory) {
  try {
    Buffer buffer(size_t{1} << 60);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.category(), Category::out_of_memory);
  }
}

}  // namespace
}  // namespace spire

#include "engine/device/pci_bus_id.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

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

// Tests what the start block says of towers that run one after another.
#include <gtest/gtest.h>

#include "engine/train/placement/placement.h"

namespace spire {
namespace {

// shares: of each device, the number of its towers and of its lanes.
std::string text_of(const std::vector<std::pair<int, int>>& shares) {
  Placement placement;
  placement.towers = 0;
  for (auto [towers, lanes] : shares) {
    PlacedDevice device;
    device.towers = {placement.towers, placement.towers + towers};
    device.lanes = lanes;
    placement.towers += towers;
    placement.devices.push_back(device);
  }
  return accumulation_text(placement);
}

TEST(Accumulation, IsWhereADeviceRunsTowersOneAfterAnother) {
  EXPECT_EQ(text_of({{2, 1}, {2, 1}}),
            "4 towers on 2 devices: each device runs 2 towers one after another, which is gradient "
            "accumulation over 2");
  EXPECT_EQ(text_of({{4, 1}}),
            "4 towers on 1 device: it runs 4 towers one after another, which is gradient "
            "accumulation over 4");
  EXPECT_EQ(text_of({{2, 1}, {1, 1}}),
            "3 towers on 2 devices: each device runs up to 2 towers one after another, which is "
            "gradient accumulation over 2");
  EXPECT_EQ(text_of({{8, 2}}),
            "8 towers on 1 device: it runs 8 towers, 2 at a time, which is "
            "gradient accumulation over 4");
}

TEST(Accumulation, IsNotWhereLanesRunAllTowersAtOnce) {
  EXPECT_EQ(text_of({{1, 1}, {1, 1}}), "");
  EXPECT_EQ(text_of({{4, 4}}), "");
}

}  // namespace
}  // namespace spire

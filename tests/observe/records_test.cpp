#include "engine/observe/records.h"

#include <gtest/gtest.h>

namespace spire {
namespace {

// Two series of one name would make Prometheus refuse the whole page.
TEST(DeviceNames, AreUniqueWithinARank) {
  StartInfo start;
  start.devices = {{"cuda:0", "", 1, {}},
                   {"cuda:0", "", 1, {}},
                   {"cuda:1", "", 1, {}},
                   {"cuda:0", "", 1, {}, 1},
                   {"cuda:0", "", 1, {}, 1}};
  EXPECT_EQ(unique_device_names(start),
            (std::vector<std::string>{"cuda:0", "cuda:0#2", "cuda:1", "cuda:0", "cuda:0#2"}));
}

}  // namespace
}  // namespace spire

// Points of a sweep that cannot run side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/message_of.h"
#include "tools/sweep/plan.h"

namespace spire {
namespace {

std::vector<SweepPoint> points(const std::vector<std::string>& addresses) {
  std::vector<SweepPoint> all(addresses.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].resolved.config.monitor.serve = addresses[i];
  return all;
}

TEST(SweepPorts, AreRefusedWhereTwoRunsWouldShareOne) {
  std::vector<SweepSlot> two(2), one(1);
  for (const char* address : {"9400", "0.0.0.0:9400"})
    EXPECT_THAT(message_of(Category::config,
                           [&] {
                             refuse_shared_ports(points({"127.0.0.1:9400", address}), two);
                           }),
                testing::HasSubstr(std::string("monitor.serve: ") + address + ", but 2 runs"));
  refuse_shared_ports(points({"9400", "9400"}), one);
  for (const auto& good : {points({"0", "0"}), points({"none", "none"}), points({"9400", "9401"})})
    refuse_shared_ports(good, two);
}

// The page and the metrics of a run, as its server answers for both.
TEST(SweepPorts, OfOnePointAreItsOwn) {
  std::vector<SweepPoint> both = points({"9400", "none"});
  both[0].resolved.config.monitor.prometheus = "9400";
  refuse_shared_ports(both, std::vector<SweepSlot>(2));
  both[1].resolved.config.monitor.prometheus = "9400";
  EXPECT_THROW(refuse_shared_ports(both, std::vector<SweepSlot>(2)), Error);
}

}  // namespace
}  // namespace spire

// What others use of the cores, from made-up counts of the kernel.
#include "engine/device/load/other_load.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/device/system_files.h"

namespace spire {
namespace {

class OtherLoadTest : public testing::Test {
 protected:
  // Ticks of two cores and of the process: user, system, and the same of its children.
  void count(int busy0, int idle0, int busy1, int idle1, int own, int children = 0) {
    files_.file("proc/stat", fmt::format("cpu  {} 0 0 {} 0 0 0 0 0 0\n"
                                         "cpu0 {} 0 0 {} 0 0 0 0 0 0\n"
                                         "cpu1 {} 0 0 {} 0 0 0 0 0 0\n"
                                         "intr 1 2 3\n",
                                         busy0 + busy1, idle0 + idle1, busy0, idle0, busy1, idle1));
    files_.file("proc/self/stat", fmt::format("17 (a) S (b) S 1 2 3 4 5 6 7 8 9 10 {} 1 {} 1 20 0",
                                              own - 1, children - 1));
  }
  SystemFiles files_;
};

TEST_F(OtherLoadTest, IsWhatTheProcessAndItsChildrenHaveNotUsed) {
  count(100, 100, 100, 100, 50, 20);
  OtherLoad others({0, 1}, files_.root());
  count(200, 100, 190, 110, 80, 30);  // 190 of 200 ticks, and 40 are the process's
  EXPECT_DOUBLE_EQ(others.read().value(), 1.5);
  count(200, 200, 190, 210, 80, 30);
  EXPECT_EQ(others.read(), 0);
}

TEST_F(OtherLoadTest, CountsTheGivenCoresAlone) {
  count(0, 0, 0, 0, 1, 1);
  OtherLoad others({1}, files_.root());
  count(100, 0, 50, 50, 11, 1);
  EXPECT_DOUBLE_EQ(others.read().value(), 0.4);
}

// The kernel rounds each count for itself.
TEST_F(OtherLoadTest, IsNeverNegative) {
  count(0, 0, 0, 0, 1, 1);
  OtherLoad others({0, 1}, files_.root());
  count(10, 90, 10, 90, 30, 1);
  EXPECT_EQ(others.read(), 0);
}

TEST_F(OtherLoadTest, IsUnknownWhereTheSystemDoesNotTell) {
  OtherLoad others({0, 1}, files_.root());
  count(0, 0, 0, 0, 1, 1);
  EXPECT_FALSE(others.read());  // only now there is a first count
  EXPECT_FALSE(others.read());  // no time has passed
  count(10, 10, 10, 10, 1, 1);
  EXPECT_TRUE(others.read());
  EXPECT_FALSE(OtherLoad({0, 7}, files_.root()).read());
  EXPECT_FALSE(OtherLoad({}, files_.root()).read());
}

}  // namespace
}  // namespace spire

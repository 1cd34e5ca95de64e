// What others use of the cores, from made-up counts of the kernel.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "engine/device/load/host_use.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// As of proc(5): the 14th word are the ticks, the 39th is the core.
std::string thread_line(int number, int ticks, int core) {
  return fmt::format(
      "{} (a) R 1 2 3 4 5 6 7 8 9 10 {} 0 0 0 20 0 3 0 99 1 2 {} 0 0 0 0 0 0 0 0 0 0 "
      "0 0 17 {} 0 0",
      number, ticks, uint64_t(-1), core);
}

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
  // Ticks of a thread of the process, and the core on which it is.
  void thread(int number, int ticks, int core) {
    files_.file(fmt::format("proc/self/task/{}/stat", number), thread_line(number, ticks, core));
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

// Another program on core 0, the process's thread on core 1, as long as that stays there.
TEST_F(OtherLoadTest, IsDividedAmongTheCores) {
  count(0, 0, 0, 0, 1, 1);
  OtherLoad others({0, 1}, files_.root());
  count(0, 100, 100, 0, 101, 1);
  EXPECT_THAT(others.read_each().value(), ElementsAre(0, 0)) << "all time is the process's";
  thread(17, 100, 1);
  count(20, 180, 100, 100, 101, 1);
  EXPECT_THAT(others.read_each().value(), ElementsAre(0.1, 0.1)) << "too little to look closely";
  count(120, 180, 200, 100, 201, 1);
  thread(17, 200, 1);
  EXPECT_FALSE(others.read_each()) << "where the process was before is unknown";
  count(220, 180, 300, 100, 301, 1);
  thread(17, 300, 1);
  EXPECT_THAT(others.read_each().value(), ElementsAre(1, 0));
  thread(17, 400, 0);
  thread(18, 0, 1);
  count(320, 180, 400, 100, 401, 1);
  EXPECT_THAT(others.read_each().value(), ElementsAre(0.5, 0.5)) << "it was on each for a while";
}

// Threads that have ended took their times with them: the sum is still right.
TEST_F(OtherLoadTest, ThatIsDividedKeepsItsSum) {
  count(0, 0, 0, 0, 1, 1);
  OtherLoad others({0, 1}, files_.root());
  thread(17, 0, 1);
  count(100, 0, 100, 0, 1, 1);
  EXPECT_FALSE(others.read_each());
  thread(17, 60, 1);
  count(200, 0, 200, 0, 101, 1);
  EXPECT_THAT(others.read_each().value(),
              ElementsAre(DoubleNear(1 / 1.4, 1e-9), DoubleNear(0.4 / 1.4, 1e-9)));
  thread(17, 60, 1);  // of most of its time nobody knows where it was
  count(300, 0, 250, 50, 201, 1);
  EXPECT_THAT(others.read_each().value(), ElementsAre(0.25, 0.25));
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
  EXPECT_FALSE(OtherLoad({0, 7}, files_.root()).read_each());
  EXPECT_FALSE(OtherLoad({}, files_.root()).read_each());
}

}  // namespace
}  // namespace spire

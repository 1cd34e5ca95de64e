// Which devices are warned of, when, and how often.
#include "engine/observe/straggler_watch.h"

#include <gmock/gmock.h>

#include "tests/observe/made_steps.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<DeviceLabel> four = {{"cuda:0", 1}, {"cuda:1", 1}, {"cuda:2", 1}, {"cuda:3", 1}};

// Steps of 0.5 s: 50 of them are a window.
class Watch : public testing::Test {
 protected:
  Watch() { steps_.step_ms = 500; }

  // A number of windows in which the third device is late by a share of the others' time.
  void windows(int count, double lag) {
    for (int64_t i = 0; i < count * StragglerWatch::window_steps; ++i) {
      std::string warning = watch_.add(steps_.at({100, 100, 100 * (1 + lag), 100}));
      if (!warning.empty()) warnings_.push_back(warning);
    }
  }
  void throttle(std::vector<std::string> reasons) {
    steps_.devices[2].throttle_reasons = std::move(reasons);
  }

  MadeSteps steps_{4};
  StragglerWatch watch_{four};
  std::vector<std::string> warnings_;
};

const std::string slower =
    "cuda:2 arrives last in 100 % of steps, 14 % after the median: it runs slower; look for other "
    "work on it, or for weaker hardware";

TEST_F(Watch, WarnsInTheThirdWindowAndOnce) {
  windows(2, 0.14);
  EXPECT_THAT(warnings_, IsEmpty());
  windows(1, 0.14);
  EXPECT_THAT(warnings_, ElementsAre(slower));
  windows(20, 0.14);
  EXPECT_EQ(warnings_.size(), 1u);
}

TEST_F(Watch, WindowsMustFollowEachOther) {
  windows(2, 0.14);
  windows(1, 0.07);  // a straggler, but not clearly
  windows(2, 0.14);
  EXPECT_THAT(warnings_, IsEmpty());
  windows(1, 0.14);
  EXPECT_THAT(warnings_, ElementsAre(slower));
}

// A new cause is told at once as long as the device did not catch up in between.
TEST_F(Watch, EachCauseHasItsWarning) {
  windows(3, 0.14);
  windows(1, 0.07);
  steps_.devices[2].clock_mhz = 1200;
  steps_.devices[2].max_clock_mhz = 1980;
  throttle({"heat"});
  windows(1, 0.2);
  EXPECT_THAT(warnings_, ElementsAre(slower,
                                     "cuda:2 arrives last in 100 % of steps, 20 % after "
                                     "the median: throttled by heat at 1200 of 1980 MHz; "
                                     "improve its cooling"));
  throttle({});
  windows(5, 0);  // it keeps up
  throttle({"power cap"});
  windows(2, 0.2);
  EXPECT_EQ(warnings_.size(), 2u);
  windows(1, 0.2);
  EXPECT_EQ(warnings_.size(), 3u);
  throttle({"heat"});
  windows(5, 0.2);
  EXPECT_EQ(warnings_.size(), 3u);
}

TEST_F(Watch, OneThatIsLastInTurnIsNoStraggler) {
  for (int64_t i = 0; i < 10 * StragglerWatch::window_steps; ++i) {
    bool second = i % 2 == 0;
    EXPECT_EQ(watch_.add(steps_.at({100, second ? 150.0 : 100, second ? 100.0 : 150, 100})), "");
  }
}

TEST_F(Watch, AWindowLastsItsSeconds) {
  steps_.step_ms = 3.90625;  // 256 steps a second, 5120 steps a window
  windows(307, 0.14);        // 15350 steps
  EXPECT_THAT(warnings_, IsEmpty());
  windows(1, 0.14);
  EXPECT_THAT(warnings_, ElementsAre(slower));
}

TEST(StragglerWatch, MoreTowersAreNoReasonToWarn) {
  StragglerWatch watch({{"cpu:0", 2}, {"cpu:1", 1}});
  MadeSteps steps(2);
  steps.step_ms = 400;
  for (int64_t i = 0; i < 5 * StragglerWatch::window_steps; ++i)
    EXPECT_EQ(watch.add(steps.at({200, 100})), "");
}

}  // namespace
}  // namespace spire

// Which devices are warned of, when, and how often.
#include "engine/observe/device_watch.h"

#include <gmock/gmock.h>

#include "tests/observe/reports.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

class Health : public testing::Test {
 protected:
  std::vector<std::string> look() { return watch_.add(reports_); }

  std::vector<DeviceReport> reports_{3};
  HealthWatch watch_{{"cuda:0", "cuda:1", ""}};
};

TEST_F(Health, OfSoundDevicesAndThoseThatTellNothingThereIsNoWarning) {
  EXPECT_THAT(look(), IsEmpty());
  reports_[1].ecc_errors = 3;  // from before the run
  reports_[1].ecc_corrected = 7;
  reports_[0].throttle_reasons = {"idle", "power cap", "clock setting"};
  for (int i = 0; i < 3; ++i) EXPECT_THAT(look(), IsEmpty());
}

TEST_F(Health, EachXidIsToldOnceOfEachDevice) {
  reports_[1].last_xid = 31;
  EXPECT_THAT(look(),
              ElementsAre("cuda:1 has reported error XID 31; look it up in NVIDIA's list of "
                          "XID errors; dmesg has the lines of the driver"));
  EXPECT_THAT(look(), IsEmpty());
  reports_[1].last_xid = 79;
  reports_[0].last_xid = 31;
  EXPECT_THAT(look(), ElementsAre(StartsWith("cuda:0 has reported error XID 31"),
                                  StartsWith("cuda:1 has reported error XID 79")));
  reports_[1].last_xid = 31;
  EXPECT_THAT(look(), IsEmpty());
}

TEST_F(Health, EachNewUncorrectedErrorIsToldAndTheFirstCorrectedOne) {
  reports_[0].ecc_errors = 1;
  reports_[0].ecc_corrected = 0;
  EXPECT_THAT(look(), IsEmpty());
  reports_[0].ecc_errors = 3;
  EXPECT_THAT(look(), ElementsAre("cuda:0 has had 2 errors that its memory could not correct; end "
                                  "the run and type: nvidia-smi --gpu-reset; replace the GPU if "
                                  "the errors come back"));
  EXPECT_THAT(look(), IsEmpty());
  reports_[0].ecc_errors = 4;
  reports_[0].ecc_corrected = 1;
  EXPECT_THAT(look(), ElementsAre(StartsWith("cuda:0 has had 1 error that its memory could not"),
                                  StartsWith("cuda:0 has corrected errors of its memory; ")));
  reports_[0].ecc_corrected = 9;
  EXPECT_THAT(look(), IsEmpty());
}

// A reading that is missing for a while ends nothing.
TEST_F(Health, CountsGoOnAfterAReadingThatIsMissing) {
  reports_[0].ecc_errors = 1;
  EXPECT_THAT(look(), IsEmpty());
  reports_[0].ecc_errors.reset();
  EXPECT_THAT(look(), IsEmpty());
  reports_[0].ecc_errors = 2;
  EXPECT_THAT(look(), ElementsAre(StartsWith("cuda:0 has had 1 error ")));
}

TEST_F(Health, HeatIsToldOnceWithTemperatureAndClock) {
  reports_[0].throttle_reasons = {"power cap", "heat", "heat (hardware)"};
  reports_[0].celsius = 92.6;
  reports_[0].clock_mhz = 1200;
  reports_[0].max_clock_mhz = 1980;
  EXPECT_THAT(look(), ElementsAre("cuda:0 is throttled by heat: 93 °C, 1200 of 1980 MHz; improve "
                                  "its cooling"));
  reports_[0].throttle_reasons.clear();
  EXPECT_THAT(look(), IsEmpty());
  reports_[0].throttle_reasons = {"heat", "power brake"};
  EXPECT_THAT(look(), ElementsAre(StartsWith("cuda:0 is slowed by the power brake: ")));
}

TEST_F(Health, ALogicalDeviceIsToldOfByItsFirst) {
  reports_[2].last_xid = 79;
  EXPECT_THAT(look(), IsEmpty());
}

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

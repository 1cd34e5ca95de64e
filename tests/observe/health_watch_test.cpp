// Which signs of a failing device are told, and that each is told once.
#include "engine/observe/health_watch.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace spire

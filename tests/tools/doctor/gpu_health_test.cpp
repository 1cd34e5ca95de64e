#include "tests/run/machine/findings.h"
#include "tests/scripted_nvml/scripted_machine.h"
#include "tools/doctor/checks.h"

namespace spire {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

Findings findings_of(const nlohmann::json& script) {
  ScriptedMachine machine(script);
  return check_gpus(read_gpus(GpuMonitor()));
}

TEST(GpuHealthCheck, NamesEveryTroubleOfTheScriptedMachine) {
  EXPECT_THAT(
      findings_of(ScriptedMachine::eight_gpus()),
      ElementsAre(
          fails("gpu_health", "GPU 3 is lost; GPU 3 fell off the bus"),
          warns("gpu_clocks",
                "GPU 5 (NVIDIA A100-SXM4-80GB) is throttled at 1095 of 1410 MHz, "
                "89 °C: hardware slowdown, heat, heat (hardware)"),
          warns("gpu_use",
                "GPU 1 (NVIDIA H100 80GB HBM3) is used by 2 processes with 68.8 GiB: "
                "5000001, 5000002"),
          warns("gpu_use", "GPU 5 (NVIDIA A100-SXM4-80GB) is used by 1 process with 62.4 GiB"),
          warns("mig", "GPU 2 (NVIDIA H100 80GB HBM3) is split by MIG into 2 devices")));
}

TEST(GpuHealthCheck, TellsErrorsOfMemoryAndOfTheDriver) {
  auto script = ScriptedMachine::eight_gpus();
  script["gpus"] = nlohmann::json::array({script["gpus"][0]});
  auto& gpu = script["gpus"][0];
  EXPECT_THAT(findings_of(script),
              ElementsAre(good("gpu_health", "1 GPU: none has failed"), good("gpu_clocks", "1 GPU"),
                          good("gpu_use", "no other process"), good("mig", "none is split")));
  gpu["ecc_corrected"] = 12;  // which does no harm
  EXPECT_THAT(findings_of(script), Contains(good("gpu_health", "none has failed")));
  gpu["ecc_uncorrected"] = 2;
  EXPECT_THAT(findings_of(script), Contains(fails("gpu_health",
                                                  "2 errors that memory could not "
                                                  "correct; end its processes")));
  gpu["ecc_uncorrected"] = 0;
  gpu["xids"] = {31};
  EXPECT_THAT(findings_of(script), Contains(warns("gpu_health", "reported error XID 31")));
  gpu["returns"] = {{"nvmlDeviceGetMemoryInfo_v2", 999}};
  EXPECT_THAT(findings_of(script), Contains(fails("gpu_health", "is failing")));
}

TEST(GpuHealthCheck, TellsWhatSlowsClocks) {
  auto script = ScriptedMachine::eight_gpus();
  script["gpus"] = nlohmann::json::array({script["gpus"][0]});
  auto& bits = script["gpus"][0]["throttle_bits"];
  bits = 0x1 | 0x4 | 0x10 | 0x100;  // idle, power cap, sync boost, display clock
  EXPECT_THAT(findings_of(script), Contains(good("gpu_clocks", "none is throttled")));
  bits = 0x2;
  EXPECT_THAT(findings_of(script),
              Contains(warns("gpu_clocks", "clock setting; somebody has set")));
  bits = 0x80;
  EXPECT_THAT(findings_of(script), Contains(warns("gpu_clocks", "power brake; check its power")));
}

TEST(GpuHealthCheck, IsGoodWithoutGpus) {
  auto script = ScriptedMachine::eight_gpus();
  script["returns"] = {{"nvmlInit_v2", 9}};
  Findings findings = findings_of(script);
  EXPECT_EQ(worst(findings), FindingLevel::ok);
  EXPECT_EQ(findings.size(), 4u);
}

}  // namespace
}  // namespace spire

#include "tools/doctor/processor.h"

#include "tests/device/system_files.h"
#include "tests/run/machine/findings.h"

namespace spire {
namespace {

using testing::ElementsAre;

Processor with(std::set<std::string> flags, const std::string& vendor = "GenuineIntel") {
  return {.name = "Xeon", .vendor = vendor, .flags = std::move(flags)};
}

Finding finding(const Processor& processor, size_t number,
                const std::vector<CudaDeviceInfo>& gpus = {}) {
  return check_processor(processor, gpus)[number];
}

TEST(ProcessorCheck, ReadsTheKernelsFiles) {
  SystemFiles system;
  system
      .file("proc/cpuinfo",
            "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n"
            "flags\t\t: fpu avx2 avx512f avx512_bf16 amx_bf16 amx_tile\n")
      .file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
      .file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil\n");
  EXPECT_THAT(check_processor(read_processor(system.root()), {}),
              ElementsAre(good("instructions", "Intel(R) Xeon(R): AVX2, AVX-512, BF16, AMX"),
                          good("precision", "bf16 is the fastest here: AMX"),
                          good("governor", "schedutil"), good("clock_source", "tsc")));
  EXPECT_THAT(
      check_processor(read_processor(system.root() / "nowhere"), {}),
      ElementsAre(good("instructions", "none"), good("precision", "fp32"),
                  good("governor", "does not tell"), good("clock_source", "does not tell")));
}

TEST(ProcessorCheck, WarnsWithoutAvx2) {
  EXPECT_THAT(finding(with({"sse4_2"}), 0), warns("instructions", "CPU model host"));
  EXPECT_THAT(finding(with({"asimd", "sve"}, ""), 0), good("instructions", "NEON, SVE"));
}

TEST(ProcessorCheck, SaysWhichPrecision) {
  EXPECT_THAT(finding(with({"avx2"}), 1), good("precision", "fp32 suits"));
  EXPECT_THAT(finding(with({"avx2", "avx512f"}), 1), good("precision", "trainer bench"));
  CudaDeviceInfo old, older, recent;
  old.compute_major = 7;
  older.compute_major = 6;
  recent.compute_major = 9;
  EXPECT_THAT(finding(with({"avx2"}), 1, {recent}), good("precision", "bf16 is the fastest"));
  EXPECT_THAT(finding(with({"avx2"}), 1, {recent, old}), good("precision", "precision: fp16"));
  EXPECT_THAT(finding(with({"avx2"}), 1, {older}), good("precision", "precision: fp32"));
}

TEST(ProcessorCheck, WarnsOfSlowClocks) {
  Processor processor = with({"avx2"});
  processor.governor = "powersave";
  processor.frequency_driver = "acpi-cpufreq";
  processor.clock_source = "hpet";
  EXPECT_THAT(finding(processor, 2), warns("governor", "cpupower"));
  EXPECT_THAT(finding(processor, 3), warns("clock_source", "tsc"));
  processor.frequency_driver = "intel_pstate";
  EXPECT_THAT(finding(processor, 2), good("governor", "powersave"));
}

}  // namespace
}  // namespace spire

// Tests energy from counters in files, and from a library in NVML's place.
#include "tools/bench/runs/energy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/device/system_files.h"
#include "tests/scripted_nvml/scripted_machine.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr const char* no_library = "libspire-has-no-such-library.so";

void add_zone(SystemFiles& files, const std::string& zone, const std::string& name,
              int64_t microjoules) {
  std::string folder = "sys/class/powercap/" + zone + "/";
  files.file(folder + "name", name + "\n")
      .file(folder + "max_energy_range_uj", "1000000000\n")
      .file(folder + "energy_uj", std::to_string(microjoules) + "\n");
}

EnergyMeter meter_of(const SystemFiles& files) {
  return EnergyMeter({}, files.root(), no_library);
}

TEST(Energy, OfPackagesIsTheirSumSinceTheStart) {
  SystemFiles files;
  add_zone(files, "intel-rapl:0", "package-0", 5'000'000);
  add_zone(files, "intel-rapl:1", "package-1", 999'000'000);
  EnergyMeter meter = meter_of(files);
  EXPECT_EQ(meter.text(), "package-0, package-1 (RAPL)");
  add_zone(files, "intel-rapl:0", "package-0", 6'000'000);
  meter.start();
  add_zone(files, "intel-rapl:0", "package-0", 8'500'000);
  add_zone(files, "intel-rapl:1", "package-1", 500'000);  // wrapped around at 1000 J
  EXPECT_DOUBLE_EQ(meter.joules().value(), 2.5 + 1.5);
}

TEST(Energy, PartsAndRepetitionsOfAPackageDoNotCount) {
  SystemFiles files;
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl-mmio:0"})
    add_zone(files, zone, "package-0", 0);
  add_zone(files, "intel-rapl:1", "psys", 0);
  EnergyMeter meter = meter_of(files);
  for (const char* zone : {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl-mmio:0"})
    add_zone(files, zone, "package-0", 3'000'000);
  add_zone(files, "intel-rapl:1", "psys", 9'000'000);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 3);
}

TEST(Energy, IsNoneWithoutReadableCounters) {
  SystemFiles none, unreadable;
  EXPECT_FALSE(meter_of(none).joules());
  EXPECT_THAT(meter_of(none).text(), HasSubstr("none: this machine has no counter"));
  add_zone(unreadable, "intel-rapl:0", "package-0", 1);
  unreadable.file("sys/class/powercap/intel-rapl:0/energy_uj", "");  // as without permission
  EXPECT_FALSE(meter_of(unreadable).joules());
  EXPECT_THAT(meter_of(unreadable).text(), HasSubstr("intel-rapl:0/energy_uj cannot be read"));
}

TEST(Energy, IsNoneIfACounterGoesAway) {
  SystemFiles files;
  add_zone(files, "intel-rapl:0", "package-0", 1);
  EnergyMeter meter = meter_of(files);
  files.file("sys/class/powercap/intel-rapl:0/energy_uj", "");
  EXPECT_FALSE(meter.joules());
}

// Two GPUs, whose counters grow by 1.5 J and 0.25 J with each reading, and one without a counter.
nlohmann::json counting_gpus() {
  nlohmann::json first = {{"pci", "00000000:01:00.0"}}, second = {{"pci", "00000000:02:00.0"}};
  for (int reading = 0; reading < 10; ++reading) {
    first["joules"].push_back(5 + 1.5 * reading);
    second["joules"].push_back(0.007 + 0.25 * reading);
  }
  return {{"gpus", {first, second, {{"pci", "00000000:03:00.0"}}}}};
}

CudaDeviceInfo gpu_at(const std::string& pci_bus_id) {
  CudaDeviceInfo gpu;
  gpu.pci_bus_id = pci_bus_id;
  return gpu;
}

TEST(Energy, OfGpusAddsToThatOfPackages) {
  ScriptedMachine machine(counting_gpus());
  SystemFiles files;
  add_zone(files, "intel-rapl:0", "package-0", 0);
  // The second GPU has two logical devices, and counts once.
  EnergyMeter meter({gpu_at("0000:01:00.0"), gpu_at("0000:02:00.0"), gpu_at("0000:02:00.0")},
                    files.root());
  EXPECT_EQ(meter.text(), "package-0 (RAPL); 2 GPUs (NVML)");
  meter.start();
  add_zone(files, "intel-rapl:0", "package-0", 1'000'000);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 1 + 1.5 + 0.25);
  EXPECT_DOUBLE_EQ(meter.joules().value(), 1 + 2 * (1.5 + 0.25));
}

TEST(Energy, CountsGpusOfRunsOnGpusAlone) {
  RunConfig config;
  config.devices = {"2xcpu"};
  EXPECT_TRUE(counted_gpus(config).empty());
  for (const char* word : {"cuda", "2xcuda", "cuda:1"}) {
    config.devices = {word};
    EXPECT_EQ(counted_gpus(config).size(), discover_cuda().devices.size()) << word;
  }
}

TEST(Energy, OfSomeOfTheGpusIsNone) {
  ScriptedMachine machine(counting_gpus());
  EXPECT_EQ(GpuEnergy({gpu_at("0000:01:00.0"), gpu_at("0000:03:00.0")}).count(), 0);
  EXPECT_EQ(GpuEnergy({gpu_at("0000:ff:00.0")}).count(), 0);
  EXPECT_EQ(GpuEnergy({gpu_at("0000:01:00.0")}, no_library).count(), 0);
  EXPECT_FALSE(GpuEnergy({}).joules());
}

}  // namespace
}  // namespace spire

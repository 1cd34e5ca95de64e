// Energy of a piece of work, from the processors' and GPUs' own counters.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

// Returns the GPUs whose energy counts in a run: all that this process sees, none if the run's
// devices are CPUs.
std::vector<CudaDeviceInfo> counted_gpus(const RunConfig& config);

// Counters: RAPL's of each processor package (Linux, Documentation/power/powercap/powercap.rst:
// <zone>/name, energy_uj, max_energy_range_uj) and NVML's of each GPU. Both count other programs'
// work, too. Counters that cannot be read are left out (since Linux 5.10 only root reads RAPL).
class EnergyMeter {
 public:
  // gpus: those whose energy counts. root: the folder that contains sys; tests have one of their
  // own. nvml: the library's file, as for GpuEnergy.
  explicit EnergyMeter(const std::vector<CudaDeviceInfo>& gpus = {},
                       const std::filesystem::path& root = "/", const std::string& nvml = "");

  void start();
  // Returns the joules since start(), of all counters; none if there is no counter, or if one can
  // no longer be read. A package's counter may wrap around once meanwhile (after minutes to hours).
  std::optional<double> joules() const;

  // Returns "package-0, package-1 (RAPL); 2 GPUs (NVML)", or why there is none.
  std::string text() const;

 private:
  struct Package {
    std::string name;
    std::filesystem::path counter;
    double range = 0;  // microjoules at which the counter wraps around
    double begin = 0;  // microjoules at start()
  };
  void find_packages(const std::filesystem::path& folder);

  std::vector<Package> packages_;
  std::string unreadable_;  // a counter without permission
  GpuEnergy gpus_;
  double gpus_begin_ = 0;  // joules
  bool started_ = false;   // all counters could be read at start()
};

}  // namespace spire

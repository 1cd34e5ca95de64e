// Energy counters of the GPUs of a run, added up. (GpuMonitor reads them: since Volta.)
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

class GpuEnergy {
 public:
  // gpus: logical devices may name a GPU several times; it counts once. Counts none if the library
  // or any of the GPUs' counters is missing: a sum of only some would mislead. Never throws.
  // file: NVML's, as for GpuMonitor.
  explicit GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file = "");

  int64_t count() const;  // number of GPUs that are counted
  // Returns the joules of all these GPUs since the driver was loaded; none if one failed or there
  // is none. With MIG the counter is that of the whole GPU.
  std::optional<double> joules() const;

 private:
  std::unique_ptr<GpuMonitor> monitor_;  // null: no GPUs
  std::vector<int> numbers_;             // nvidia-smi's
};

}  // namespace spire

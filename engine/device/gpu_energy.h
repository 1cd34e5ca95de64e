// Energy counters of GPUs, read through NVML, which is a part of the NVIDIA driver and is loaded
// when it is needed. (NVML API Reference: nvmlDeviceGetTotalEnergyConsumption, since Volta.)
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace spire::inline device {

class GpuEnergy {
 public:
  static constexpr const char* library = "libnvidia-ml.so.1";

  // gpus: logical devices may name a GPU several times; it counts once. Counts none if the library
  // or any of the GPUs' counters is missing: a sum of only some would mislead. Never throws.
  explicit GpuEnergy(const std::vector<CudaDeviceInfo>& gpus, const std::string& file = library);
  ~GpuEnergy();
  GpuEnergy(const GpuEnergy&) = delete;
  GpuEnergy& operator=(const GpuEnergy&) = delete;

  int64_t count() const;  // number of GPUs that are counted
  // Returns the joules of all these GPUs since the driver was loaded; none if one failed or there
  // is none. With MIG the counter is that of the whole GPU.
  std::optional<double> joules() const;

 private:
  class Nvml;
  std::unique_ptr<Nvml> nvml_;  // null: no library
  std::vector<void*> handles_;  // nvmlDevice_t
};

}  // namespace spire::inline device

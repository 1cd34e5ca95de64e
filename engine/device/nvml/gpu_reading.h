// One reading of one GPU through NVML: which calls are made, and what their errors mean.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/device/nvml/gpu_monitor.h"
#include "engine/device/nvml/nvml_library.h"

namespace spire {

// Calls functions for a GPU. Values that the GPU, its driver or this user's rights do not offer
// are empty. Other errors mark the GPU as failing, and a lost GPU is not called again.
class GpuReading {
 public:
  GpuReading(const NvmlLibrary& nvml, int number) : nvml_(nvml), number_(number) {}

  template <typename Function, typename... Arguments>
  bool works(const Function& function, Arguments... arguments) {
    return condition_ != GpuCondition::lost &&
           check_result(function(arguments...), function.name());
  }
  // Returns what the function writes to its last argument.
  template <typename Value, typename Function, typename... Arguments>
  std::optional<Value> value(const Function& function, Arguments... arguments) {
    Value value{};
    return works(function, arguments..., &value) ? std::optional(value) : std::nullopt;
  }

  std::optional<GpuMemory> memory(nvml::nvmlDevice_t device);
  std::string text(const NvmlFunction<decltype(nvml::nvmlDeviceGetName)>& function,
                   nvml::nvmlDevice_t device);  // "" if it fails

  GpuCondition condition() const { return condition_; }
  const std::string& problem() const { return problem_; }

 private:
  bool check_result(nvml::nvmlReturn_t result, const char* function);

  const NvmlLibrary& nvml_;
  int number_;  // nvidia-smi's
  GpuCondition condition_ = GpuCondition::works;
  std::string problem_;
};

// mig_devices: receives the handles of HostGpu::mig_devices.
HostGpu read_gpu(const NvmlLibrary& nvml, int number, nvml::nvmlDevice_t device,
                 std::vector<nvml::nvmlDevice_t>& mig_devices);

// Reads all members except last_xid.
GpuState read_state(const NvmlLibrary& nvml, int number, nvml::nvmlDevice_t device,
                    const std::vector<nvml::nvmlDevice_t>& mig_devices);

// root: the folder with proc.
std::optional<std::vector<GpuProcess>> read_processes(const NvmlLibrary& nvml,
                                                      nvml::nvmlDevice_t device,
                                                      const std::filesystem::path& root);

}  // namespace spire

// The open library NVML with its functions, for gpu_monitor.cpp and gpu_reading.cpp alone.
#pragma once
#include <string>

#include "engine/device/nvml/nvml_abi.h"

namespace spire {

void* find_nvml_function(void* library, const char* name);  // null: there is none

template <typename Signature>
class NvmlFunction;

// A function that a library may lack: it then returns NVML_ERROR_FUNCTION_NOT_FOUND.
template <typename... Arguments>
class NvmlFunction<nvml::nvmlReturn_t(Arguments...)> {
 public:
  NvmlFunction(void* library, const char* name)
      : function_(reinterpret_cast<Pointer>(find_nvml_function(library, name))), name_(name) {}

  nvml::nvmlReturn_t operator()(Arguments... arguments) const {
    return function_ ? function_(arguments...) : nvml::NVML_ERROR_FUNCTION_NOT_FOUND;
  }
  const char* name() const { return name_; }
  bool there() const { return function_ != nullptr; }

 private:
  using Pointer = nvml::nvmlReturn_t (*)(Arguments...);
  Pointer function_;
  const char* name_;
};

class NvmlLibrary {
 public:
  // Opens and starts NVML. If that fails, why_not() says why, and no function may be called.
  explicit NvmlLibrary(const std::string& file);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const std::string& why_not() const { return why_not_; }
  std::string words(nvml::nvmlReturn_t error) const;  // returns NVML's own, "Unknown Error"

 private:
  void* library_;
  std::string why_not_;

// A member that calls the function of that name.
#define SPIRE_NVML(member, function)              \
  NvmlFunction<decltype(nvml::function)> member { \
    library_, #function                           \
  }

  SPIRE_NVML(init_, nvmlInit_v2);
  SPIRE_NVML(shut_down_, nvmlShutdown);

 public:
  SPIRE_NVML(driver_version, nvmlSystemGetDriverVersion);
  SPIRE_NVML(count, nvmlDeviceGetCount_v2);
  SPIRE_NVML(handle, nvmlDeviceGetHandleByIndex_v2);
  SPIRE_NVML(name, nvmlDeviceGetName);
  SPIRE_NVML(uuid, nvmlDeviceGetUUID);
  SPIRE_NVML(pci, nvmlDeviceGetPciInfo_v3);
  SPIRE_NVML(minor, nvmlDeviceGetMinorNumber);

  SPIRE_NVML(mig_mode, nvmlDeviceGetMigMode);
  SPIRE_NVML(max_mig_count, nvmlDeviceGetMaxMigDeviceCount);
  SPIRE_NVML(mig_handle, nvmlDeviceGetMigDeviceHandleByIndex);
  SPIRE_NVML(gpu_instance, nvmlDeviceGetGpuInstanceId);
  SPIRE_NVML(compute_instance, nvmlDeviceGetComputeInstanceId);

  SPIRE_NVML(old_memory, nvmlDeviceGetMemoryInfo);
  SPIRE_NVML(memory, nvmlDeviceGetMemoryInfo_v2);
  SPIRE_NVML(utilization, nvmlDeviceGetUtilizationRates);
  SPIRE_NVML(old_temperature, nvmlDeviceGetTemperature);
  SPIRE_NVML(temperature, nvmlDeviceGetTemperatureV);
  SPIRE_NVML(power, nvmlDeviceGetPowerUsage);
  SPIRE_NVML(power_limit, nvmlDeviceGetEnforcedPowerLimit);
  SPIRE_NVML(clock, nvmlDeviceGetClockInfo);
  SPIRE_NVML(max_clock, nvmlDeviceGetMaxClockInfo);
  SPIRE_NVML(throttle_reasons, nvmlDeviceGetCurrentClocksEventReasons);
  SPIRE_NVML(old_throttle_reasons, nvmlDeviceGetCurrentClocksThrottleReasons);
  SPIRE_NVML(ecc_errors, nvmlDeviceGetTotalEccErrors);
  SPIRE_NVML(fields, nvmlDeviceGetFieldValues);
  SPIRE_NVML(energy, nvmlDeviceGetTotalEnergyConsumption);
  SPIRE_NVML(old_processes, nvmlDeviceGetComputeRunningProcesses_v2);
  SPIRE_NVML(processes, nvmlDeviceGetComputeRunningProcesses_v3);

  SPIRE_NVML(create_events, nvmlEventSetCreate);
  SPIRE_NVML(register_events, nvmlDeviceRegisterEvents);
  SPIRE_NVML(old_wait, nvmlEventSetWait);
  SPIRE_NVML(wait, nvmlEventSetWait_v2);
  SPIRE_NVML(free_events, nvmlEventSetFree);
#undef SPIRE_NVML
};

}  // namespace spire

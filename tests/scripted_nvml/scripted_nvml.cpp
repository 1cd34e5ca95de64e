// Takes the place of libnvidia-ml.so.1: answers what a JSON file says (README.md has its keys).
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>

#include "tests/scripted_nvml/scripted_gpus.h"

namespace spire::nvml {
namespace {

// Runs what a function does, once the script has had its say. device: null for functions of the
// machine. act(machine, slot) returns the function's result.
template <typename Act>
nvmlReturn_t answer(const char* function, const nvmlDevice_t* device, Act act) {
  ScriptedGpus& machine = ScriptedGpus::the();
  std::lock_guard lock(machine.mutex());
  try {
    machine.reload();
    if (!machine.started() && std::strcmp(function, "nvmlInit_v2") != 0)
      return NVML_ERROR_UNINITIALIZED;
    const GpuSlot* slot = device ? machine.slot(*device) : nullptr;
    if (device && !slot) return NVML_ERROR_INVALID_ARGUMENT;
    if (auto result = machine.scripted_result(function, slot)) return *result;
    return act(machine, slot);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "scripted NVML: %s: %s\n", function, error.what());
    return NVML_ERROR_UNKNOWN;
  }
}

nvmlReturn_t write_text(const json& value, char* text, unsigned length) {
  if (value.is_null()) return NVML_ERROR_NOT_SUPPORTED;
  auto words = value.get<std::string>();
  if (words.size() >= length) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::memcpy(text, words.c_str(), words.size() + 1);
  return NVML_SUCCESS;
}

nvmlReturn_t text_of(const char* function, nvmlDevice_t device, const char* key, char* text,
                     unsigned length) {
  return answer(function, &device, [&](ScriptedGpus& machine, const GpuSlot* slot) {
    return write_text(machine.next(*slot, key), text, length);
  });
}

// scale: NVML's units in one of the script's.
template <typename Number>
nvmlReturn_t number_of(const char* function, nvmlDevice_t device, const std::string& key,
                       Number* number, double scale = 1) {
  return answer(function, &device, [&](ScriptedGpus& machine, const GpuSlot* slot) {
    json value = machine.next(*slot, key);
    if (value.is_null()) return NVML_ERROR_NOT_SUPPORTED;
    *number = static_cast<Number>(std::llround(value.get<double>() * scale));
    return NVML_SUCCESS;
  });
}

unsigned long long mib(const json& memory, const char* key) {
  return memory.value(key, 0ULL) << 20;
}

nvmlReturn_t memory_of(const char* function, nvmlDevice_t device, nvmlMemory_v2_t& memory) {
  return answer(function, &device, [&](ScriptedGpus& machine, const GpuSlot* slot) {
    json value = machine.next(*slot, "memory_mib");
    if (value.is_null()) return NVML_ERROR_NOT_SUPPORTED;
    memory.total = mib(value, "total");
    memory.reserved = mib(value, "reserved");
    memory.used = mib(value, "used");
    memory.free = memory.total - memory.reserved - memory.used;
    return NVML_SUCCESS;
  });
}

std::string clock_key(const char* prefix, nvmlClockType_t type) {
  return prefix + std::string(type == NVML_CLOCK_SM ? "sm_mhz" : "memory_mhz");
}

nvmlReturn_t processes_of(const char* function, nvmlDevice_t device, unsigned* count,
                          nvmlProcessInfo_v2_t* infos) {
  return answer(function, &device, [&](ScriptedGpus& machine, const GpuSlot* slot) {
    const json& gpu = machine.device(*slot);
    auto processes = gpu.value("processes", json::array());
    unsigned capacity = *count;
    *count = static_cast<unsigned>(processes.size());
    if (capacity < *count) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (const json& process : processes) {
      unsigned long long bytes =
          process.contains("mib") ? mib(process, "mib") : NVML_VALUE_NOT_AVAILABLE;
      *infos++ = {.pid = process.at("pid"),
                  .usedGpuMemory = bytes,
                  .gpuInstanceId = process.value("gpu_instance", NVML_NO_INSTANCE),
                  .computeInstanceId = process.value("compute_instance", NVML_NO_INSTANCE)};
    }
    return NVML_SUCCESS;
  });
}

nvmlReturn_t wait_for(const char* function, nvmlDevice_t& device, unsigned long long& type,
                      unsigned long long& code) {
  return answer(function, nullptr, [&](ScriptedGpus& machine, const GpuSlot*) {
    auto xid = machine.next_xid();
    if (!xid) return NVML_ERROR_TIMEOUT;
    device = machine.handle(xid->first);
    type = nvmlEventTypeXidCriticalError;
    code = xid->second;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t success(ScriptedGpus&, const GpuSlot*) {
  return NVML_SUCCESS;
}

}  // namespace

// Their linkage is that of their declarations: C.
nvmlReturn_t nvmlInit_v2() {
  return answer("nvmlInit_v2", nullptr, [](ScriptedGpus& machine, const GpuSlot*) {
    machine.start();
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlShutdown() {
  ScriptedGpus& machine = ScriptedGpus::the();
  std::lock_guard lock(machine.mutex());
  if (!machine.started()) return NVML_ERROR_UNINITIALIZED;
  machine.stop();
  return NVML_SUCCESS;
}

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS:
      return "Success";
    case NVML_ERROR_NOT_SUPPORTED:
      return "Not Supported";
    case NVML_ERROR_GPU_IS_LOST:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return answer("nvmlSystemGetDriverVersion", nullptr, [&](ScriptedGpus& machine, const GpuSlot*) {
    return write_text(machine.script().value("driver", json()), version, length);
  });
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return answer("nvmlDeviceGetCount_v2", nullptr, [&](ScriptedGpus& machine, const GpuSlot*) {
    *count = machine.count();
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  const char* name = "nvmlDeviceGetHandleByIndex_v2";
  nvmlReturn_t result = answer(name, nullptr, [&](ScriptedGpus& machine, const GpuSlot*) {
    if (index >= machine.count()) return NVML_ERROR_INVALID_ARGUMENT;
    *device = machine.handle(static_cast<int>(index));
    return NVML_SUCCESS;
  });
  return result == NVML_SUCCESS ? answer(name, device, success) : result;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return text_of("nvmlDeviceGetName", device, "name", name, length);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return text_of("nvmlDeviceGetUUID", device, "uuid", uuid, length);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  return text_of("nvmlDeviceGetPciInfo_v3", device, "pci", pci->busId, sizeof pci->busId);
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor) {
  return number_of("nvmlDeviceGetMinorNumber", device, "minor", minor);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return answer("nvmlDeviceGetMigMode", &device, [&](ScriptedGpus& machine, const GpuSlot* slot) {
    if (!machine.gpu(*slot).contains("mig")) return NVML_ERROR_NOT_SUPPORTED;
    *current = *pending = machine.gpu(*slot)["mig"].is_array() ? NVML_DEVICE_MIG_ENABLE : 0;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return answer("nvmlDeviceGetMaxMigDeviceCount", &device, [&](ScriptedGpus&, const GpuSlot*) {
    *count = 7;
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* mig_device) {
  return answer("nvmlDeviceGetMigDeviceHandleByIndex", &device,
                [&](ScriptedGpus& machine, const GpuSlot* slot) {
                  const json& devices = machine.gpu(*slot).at("mig");
                  if (index >= devices.size() || devices[index].is_null())
                    return NVML_ERROR_NOT_FOUND;
                  *mig_device = machine.handle(slot->gpu, static_cast<int>(index));
                  return NVML_SUCCESS;
                });
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig_device, unsigned* id) {
  return number_of("nvmlDeviceGetGpuInstanceId", mig_device, "gpu_instance", id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig_device, unsigned* id) {
  return number_of("nvmlDeviceGetComputeInstanceId", mig_device, "compute_instance", id);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  nvmlMemory_v2_t all{};
  nvmlReturn_t result = memory_of("nvmlDeviceGetMemoryInfo", device, all);
  if (result == NVML_SUCCESS)
    *memory = {.total = all.total, .free = all.free, .used = all.used + all.reserved};
  return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory->version != nvml_struct_version<nvmlMemory_v2_t>(2))
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return memory_of("nvmlDeviceGetMemoryInfo_v2", device, *memory);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  const char* name = "nvmlDeviceGetUtilizationRates";
  nvmlReturn_t result = number_of(name, device, "compute_percent", &utilization->gpu);
  if (result != NVML_SUCCESS) return result;
  return number_of(name, device, "memory_percent", &utilization->memory);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned* celsius) {
  if (sensor != NVML_TEMPERATURE_GPU) return NVML_ERROR_INVALID_ARGUMENT;
  return number_of("nvmlDeviceGetTemperature", device, "celsius", celsius);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t* temperature) {
  if (temperature->version != nvml_struct_version<nvmlTemperature_v1_t>(1))
    return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
  return number_of("nvmlDeviceGetTemperatureV", device, "celsius", &temperature->temperature);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  return number_of("nvmlDeviceGetPowerUsage", device, "watts", milliwatts, 1000);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts) {
  return number_of("nvmlDeviceGetEnforcedPowerLimit", device, "limit_watts", milliwatts, 1000);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return number_of("nvmlDeviceGetClockInfo", device, clock_key("", type), mhz);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz) {
  return number_of("nvmlDeviceGetMaxClockInfo", device, clock_key("max_", type), mhz);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons) {
  return number_of("nvmlDeviceGetCurrentClocksEventReasons", device, "throttle_bits", reasons);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons) {
  return number_of("nvmlDeviceGetCurrentClocksThrottleReasons", device, "throttle_bits", reasons);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count) {
  if (counter != NVML_VOLATILE_ECC) return NVML_ERROR_INVALID_ARGUMENT;
  const char* key = type == NVML_MEMORY_ERROR_TYPE_CORRECTED ? "ecc_corrected" : "ecc_uncorrected";
  return number_of("nvmlDeviceGetTotalEccErrors", device, key, count);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  for (int i = 0; i < count; ++i) {
    nvmlFieldValue_t& field = values[i];
    bool sent = field.fieldId == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX;
    bool known = sent || field.fieldId == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX;
    if (!known || field.scopeId != NVML_ALL_LINKS) {
      field.nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
      continue;
    }
    field.valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    field.nvmlReturn =
        number_of("nvmlDeviceGetFieldValues", device,
                  sent ? "nvlink_sent_kib" : "nvlink_received_kib", &field.value.ullVal);
    if (field.nvmlReturn != NVML_SUCCESS && field.nvmlReturn != NVML_ERROR_NOT_SUPPORTED)
      return field.nvmlReturn;
  }
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules) {
  return number_of("nvmlDeviceGetTotalEnergyConsumption", device, "joules", millijoules, 1000);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return processes_of("nvmlDeviceGetComputeRunningProcesses_v2", device, count, infos);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos) {
  return processes_of("nvmlDeviceGetComputeRunningProcesses_v3", device, count, infos);
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = reinterpret_cast<nvmlEventSet_t>(&ScriptedGpus::the());
  return answer("nvmlEventSetCreate", nullptr, success);
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t) {
  return answer("nvmlDeviceRegisterEvents", &device,
                [&](ScriptedGpus& machine, const GpuSlot* slot) {
                  if (types & nvmlEventTypeXidCriticalError) machine.register_events(slot->gpu);
                  return NVML_SUCCESS;
                });
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t, nvmlEventData_t* data, unsigned) {
  return wait_for("nvmlEventSetWait", data->device, data->eventType, data->eventData);
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t* data, unsigned) {
  data->gpuInstanceId = data->computeInstanceId = NVML_NO_INSTANCE;
  return wait_for("nvmlEventSetWait_v2", data->device, data->eventType, data->eventData);
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t) {
  return answer("nvmlEventSetFree", nullptr, success);
}

}  // namespace spire::nvml

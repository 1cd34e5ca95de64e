// The open library NVML with its functions, for gpu_monitor.cpp and gpu_reading.cpp alone, and
// the part of its binary interface that Spire uses.
#pragma once
#include <string>

namespace spire::nvml {

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using)
// The part of NVML's binary interface that Spire uses, under NVML's own names: NVIDIA's header is
// not needed to build. From the NVML API Reference Guide, which has the meaning of each.
// The functions are declared, not defined: NvmlLibrary finds them in the driver's library.

enum nvmlReturn_t : int {
  NVML_SUCCESS = 0,
  NVML_ERROR_UNINITIALIZED = 1,
  NVML_ERROR_INVALID_ARGUMENT = 2,
  NVML_ERROR_NOT_SUPPORTED = 3,
  NVML_ERROR_NO_PERMISSION = 4,
  NVML_ERROR_NOT_FOUND = 6,
  NVML_ERROR_INSUFFICIENT_SIZE = 7,
  NVML_ERROR_DRIVER_NOT_LOADED = 9,
  NVML_ERROR_TIMEOUT = 10,
  NVML_ERROR_FUNCTION_NOT_FOUND = 13,
  NVML_ERROR_GPU_IS_LOST = 15,
  NVML_ERROR_RESET_REQUIRED = 16,
  NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
  NVML_ERROR_NO_DATA = 21,
  NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
  NVML_ERROR_DEPRECATED = 26,
  NVML_ERROR_UNKNOWN = 999,
};

enum nvmlClockType_t : int { NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum nvmlTemperatureSensors_t : int { NVML_TEMPERATURE_GPU = 0 };
enum nvmlMemoryErrorType_t : int {
  NVML_MEMORY_ERROR_TYPE_CORRECTED = 0,
  NVML_MEMORY_ERROR_TYPE_UNCORRECTED = 1,
};
enum nvmlEccCounterType_t : int { NVML_VOLATILE_ECC = 0 };
enum nvmlValueType_t : int {
  NVML_VALUE_TYPE_DOUBLE = 0,
  NVML_VALUE_TYPE_UNSIGNED_INT = 1,
  NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
  NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
  NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
};

constexpr unsigned NVML_DEVICE_MIG_ENABLE = 1;
constexpr unsigned NVML_NO_INSTANCE = 0xFFFFFFFF;  // a process that runs on no MIG device
constexpr unsigned long long NVML_VALUE_NOT_AVAILABLE = ~0ULL;
constexpr unsigned long long nvmlEventTypeXidCriticalError = 8;
constexpr unsigned NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX = 138;  // KiB, since the driver's start
constexpr unsigned NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX = 139;
constexpr unsigned NVML_ALL_LINKS = 0xFFFFFFFF;  // scopeId: the sum over links

// Bits of nvmlDeviceGetCurrentClocksEventReasons (before driver 535: ...ThrottleReasons).
constexpr unsigned long long nvmlClocksEventReasonGpuIdle = 0x1;
constexpr unsigned long long nvmlClocksEventReasonApplicationsClocksSetting = 0x2;
constexpr unsigned long long nvmlClocksEventReasonSwPowerCap = 0x4;
constexpr unsigned long long nvmlClocksThrottleReasonHwSlowdown = 0x8;
constexpr unsigned long long nvmlClocksEventReasonSyncBoost = 0x10;
constexpr unsigned long long nvmlClocksEventReasonSwThermalSlowdown = 0x20;
constexpr unsigned long long nvmlClocksThrottleReasonHwThermalSlowdown = 0x40;
constexpr unsigned long long nvmlClocksThrottleReasonHwPowerBrakeSlowdown = 0x80;
constexpr unsigned long long nvmlClocksEventReasonDisplayClockSetting = 0x100;
constexpr unsigned long long nvmlClocksEventReasonBoardLimit = 0x200;
constexpr unsigned long long nvmlClocksEventReasonReliability = 0x400;

typedef struct nvmlDevice_st* nvmlDevice_t;      // a GPU or a MIG device
typedef struct nvmlEventSet_st* nvmlEventSet_t;  // events that wait to be read

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];  // "00000000:3B:00.0"
};
struct nvmlUtilization_t {
  unsigned gpu, memory;  // percent
};
struct nvmlMemory_t {
  unsigned long long total, free, used;  // bytes; used includes what the driver reserves
};
struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct nvmlTemperature_v1_t {
  unsigned version;
  nvmlTemperatureSensors_t sensorType;
  int temperature;  // degrees Celsius
};
struct nvmlProcessInfo_v2_t {  // of ..._v2 and ..._v3
  unsigned pid;
  unsigned long long usedGpuMemory;  // or NVML_VALUE_NOT_AVAILABLE
  unsigned gpuInstanceId, computeInstanceId;
};
struct nvmlEventData_t {  // nvmlEventSetWait, without _v2, does not set the instances
  nvmlDevice_t device;
  unsigned long long eventType, eventData;
  unsigned gpuInstanceId, computeInstanceId;
};
union nvmlValue_t {
  double dVal;
  unsigned uiVal;
  unsigned long ulVal;
  unsigned long long ullVal;
  long long sllVal;
};
struct nvmlFieldValue_t {
  unsigned fieldId, scopeId;
  long long timestamp, latencyUsec;  // microseconds
  nvmlValueType_t valueType;
  nvmlReturn_t nvmlReturn;  // of this field
  nvmlValue_t value;
};
// The layouts of x86-64 and arm64, which have the same sizes.
static_assert(sizeof(nvmlPciInfo_t) == 68 && sizeof(nvmlMemory_v2_t) == 40);
static_assert(sizeof(nvmlProcessInfo_v2_t) == 24 && sizeof(nvmlEventData_t) == 32);
static_assert(sizeof(nvmlFieldValue_t) == 40 && sizeof(nvmlTemperature_v1_t) == 12);

template <typename Struct>
constexpr unsigned nvml_struct_version(unsigned version) {  // NVML_STRUCT_VERSION
  return static_cast<unsigned>(sizeof(Struct)) | version << 24;
}

extern "C" {
nvmlReturn_t nvmlInit_v2();
nvmlReturn_t nvmlShutdown();
const char* nvmlErrorString(nvmlReturn_t result);
nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length);

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device);
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length);
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci);
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* minor);

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending);
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count);
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                                 nvmlDevice_t* mig_device);
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t mig_device, unsigned* id);
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t mig_device, unsigned* id);

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned* celsius);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_v1_t* temperature);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned* milliwatts);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* mhz);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long* reasons);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t type,
                                         nvmlEccCounterType_t counter, unsigned long long* count);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device,
                                                 unsigned long long* millijoules);
// count: the capacity of infos, then the number of processes (also if that is larger).
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count,
                                                     nvmlProcessInfo_v2_t* infos);

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set);
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t* data, unsigned milliseconds);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t* data, unsigned milliseconds);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set);
}
// NOLINTEND(readability-identifier-naming,modernize-use-using)

}  // namespace spire::nvml

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

#include "engine/device/nvml/gpu_reading.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <sys/stat.h>

#include <fmt/format.h>

#include "engine/base/proc_files.h"
#include "engine/device/device.h"

namespace spire {

using namespace nvml;

namespace {

// Results that mean "there is no such value", not "the GPU fails".
bool is_not_offered(nvmlReturn_t result) {
  constexpr std::array results = {
      NVML_ERROR_INVALID_ARGUMENT,   NVML_ERROR_NOT_SUPPORTED,
      NVML_ERROR_NO_PERMISSION,      NVML_ERROR_NOT_FOUND,
      NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_NO_DATA,
      NVML_ERROR_DEPRECATED,         NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
  };
  return std::ranges::find(results, result) != results.end();
}

std::optional<int> as_int(const std::optional<unsigned>& value) {
  return value ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> thousandths(const std::optional<double>& value) {
  return value ? std::optional(1e-3 * *value) : std::nullopt;
}

std::optional<int> instance(unsigned id) {
  return id == NVML_NO_INSTANCE ? std::nullopt : std::optional(static_cast<int>(id));
}

std::optional<uint64_t> kibibytes(const nvmlFieldValue_t& field) {
  if (field.nvmlReturn != NVML_SUCCESS) return std::nullopt;
  switch (field.valueType) {
    case NVML_VALUE_TYPE_UNSIGNED_INT:
      return uint64_t{field.value.uiVal} << 10;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
      return uint64_t{field.value.ulVal} << 10;
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
      return uint64_t{field.value.ullVal} << 10;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool GpuReading::check_result(nvmlReturn_t result, const char* function) {
  if (result == NVML_SUCCESS) return true;
  if (is_not_offered(result)) return false;
  if (result == NVML_ERROR_GPU_IS_LOST) {
    condition_ = GpuCondition::lost;
    problem_ = fmt::format(
        "GPU {} fell off the bus (the driver cannot reach it); restart the machine", number_);
  } else if (condition_ == GpuCondition::works) {
    condition_ = GpuCondition::failing;
    problem_ = result == NVML_ERROR_RESET_REQUIRED
                   ? fmt::format(
                         "GPU {0} needs a reset: end its processes, then "
                         "nvidia-smi --gpu-reset -i {0}",
                         number_)
                   : fmt::format("GPU {}: {}: {}", number_, function, nvml_.words(result));
  }
  return false;
}

std::optional<GpuMemory> GpuReading::memory(nvmlDevice_t device) {
  nvmlMemory_v2_t memory{};
  memory.version = nvml_struct_version<nvmlMemory_v2_t>(2);
  if (works(nvml_.memory, device, &memory))
    return GpuMemory{.total = memory.total, .used = memory.used, .free = memory.free};
  auto old = value<nvmlMemory_t>(nvml_.old_memory, device);
  if (!old) return std::nullopt;
  return GpuMemory{.total = old->total, .used = old->used, .free = old->free};
}

std::string GpuReading::text(const NvmlFunction<decltype(nvmlDeviceGetName)>& function,
                             nvmlDevice_t device) {
  std::array<char, 128> text{};  // NVML's texts have at most 96
  works(function, device, text.data(), static_cast<unsigned>(text.size() - 1));
  return text.data();
}

namespace {

std::vector<MigDevice> read_mig_devices(const NvmlLibrary& nvml, GpuReading& reading,
                                        nvmlDevice_t device, std::vector<nvmlDevice_t>& handles) {
  std::vector<MigDevice> devices;
  unsigned slots = reading.value<unsigned>(nvml.max_mig_count, device).value_or(0);
  for (unsigned slot = 0; slot < slots; ++slot) {
    auto handle = reading.value<nvmlDevice_t>(nvml.mig_handle, device, slot);
    if (!handle) continue;  // an empty slot
    handles.push_back(*handle);
    devices.push_back(
        {.number = static_cast<int>(slot),
         .name = reading.text(nvml.name, *handle),
         .uuid = reading.text(nvml.uuid, *handle),
         .gpu_instance = as_int(reading.value<unsigned>(nvml.gpu_instance, *handle)),
         .compute_instance = as_int(reading.value<unsigned>(nvml.compute_instance, *handle)),
         .memory = reading.memory(*handle)});
  }
  return devices;
}

std::optional<int> read_celsius(const NvmlLibrary& nvml, GpuReading& reading, nvmlDevice_t device) {
  nvmlTemperature_v1_t temperature{.version = nvml_struct_version<nvmlTemperature_v1_t>(1),
                                   .sensorType = NVML_TEMPERATURE_GPU,
                                   .temperature = 0};
  if (reading.works(nvml.temperature, device, &temperature)) return temperature.temperature;
  return as_int(reading.value<unsigned>(nvml.old_temperature, device, NVML_TEMPERATURE_GPU));
}

std::optional<std::vector<ThrottleReason>> read_throttle_reasons(const NvmlLibrary& nvml,
                                                                 GpuReading& reading,
                                                                 nvmlDevice_t device) {
  using enum ThrottleReason;
  using Bit = std::pair<unsigned long long, ThrottleReason>;
  constexpr std::array bits = {
      Bit{nvmlClocksEventReasonGpuIdle, idle},
      Bit{nvmlClocksEventReasonApplicationsClocksSetting, clock_setting},
      Bit{nvmlClocksEventReasonSwPowerCap, power_cap},
      Bit{nvmlClocksThrottleReasonHwSlowdown, hardware_slowdown},
      Bit{nvmlClocksEventReasonSyncBoost, sync_boost},
      Bit{nvmlClocksEventReasonSwThermalSlowdown, heat},
      Bit{nvmlClocksThrottleReasonHwThermalSlowdown, hardware_heat},
      Bit{nvmlClocksThrottleReasonHwPowerBrakeSlowdown, power_brake},
      Bit{nvmlClocksEventReasonDisplayClockSetting, display_clock},
      Bit{nvmlClocksEventReasonBoardLimit, board_limit},
      Bit{nvmlClocksEventReasonReliability, reliability},
  };
  auto set = reading.value<unsigned long long>(nvml.throttle_reasons, device);
  if (!set) set = reading.value<unsigned long long>(nvml.old_throttle_reasons, device);
  if (!set) return std::nullopt;
  std::vector<ThrottleReason> reasons;
  for (const auto& [bit, reason] : bits) {
    if (*set & bit) reasons.push_back(reason);
  }
  return reasons;
}

void read_nvlink(const NvmlLibrary& nvml, GpuReading& reading, nvmlDevice_t device,
                 GpuState& state) {
  std::array<nvmlFieldValue_t, 2> fields{};
  fields[0].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX;
  fields[1].fieldId = NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX;
  for (nvmlFieldValue_t& field : fields) {
    field.scopeId = NVML_ALL_LINKS;
    field.nvmlReturn = NVML_ERROR_UNKNOWN;
  }
  if (!reading.works(nvml.fields, device, 2, fields.data())) return;
  state.nvlink_sent = kibibytes(fields[0]);
  state.nvlink_received = kibibytes(fields[1]);
}

void read_counters(const NvmlLibrary& nvml, GpuReading& reading, nvmlDevice_t device,
                   GpuState& state) {
  state.ecc_corrected = reading.value<unsigned long long>(
      nvml.ecc_errors, device, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC);
  state.ecc_uncorrected = reading.value<unsigned long long>(
      nvml.ecc_errors, device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC);
  read_nvlink(nvml, reading, device, state);
  state.joules = thousandths(reading.value<unsigned long long>(nvml.energy, device));
}

GpuProcess describe_process(const nvmlProcessInfo_v2_t& info, const std::filesystem::path& root) {
  GpuProcess process{.pid = info.pid,
                     .name = "",
                     .user_id = std::nullopt,
                     .bytes = std::nullopt,
                     .gpu_instance = instance(info.gpuInstanceId),
                     .compute_instance = instance(info.computeInstanceId)};
  if (info.usedGpuMemory != NVML_VALUE_NOT_AVAILABLE) process.bytes = info.usedGpuMemory;
  std::filesystem::path folder = root / "proc" / std::to_string(info.pid);
  process.name = first_line(folder / "comm");
  struct stat owner {};
  if (::stat(folder.c_str(), &owner) == 0) process.user_id = owner.st_uid;
  return process;
}

}  // namespace

HostGpu read_gpu(const NvmlLibrary& nvml, int number, nvmlDevice_t device,
                 std::vector<nvmlDevice_t>& mig_devices) {
  GpuReading reading(nvml, number);
  HostGpu gpu;
  gpu.number = number;
  gpu.name = reading.text(nvml.name, device);
  gpu.uuid = reading.text(nvml.uuid, device);
  nvmlPciInfo_t pci{};
  if (reading.works(nvml.pci, device, &pci)) {
    pci.busId[sizeof pci.busId - 1] = '\0';
    gpu.pci_bus_id = normal_pci_bus_id(pci.busId);
  }
  gpu.minor_number = as_int(reading.value<unsigned>(nvml.minor, device));
  unsigned mode = 0, pending = 0;
  if (reading.works(nvml.mig_mode, device, &mode, &pending))
    gpu.mig = mode == NVML_DEVICE_MIG_ENABLE;
  if (gpu.mig == true) gpu.mig_devices = read_mig_devices(nvml, reading, device, mig_devices);
  gpu.condition = reading.condition();
  gpu.problem = reading.problem();
  return gpu;
}

GpuState read_state(const NvmlLibrary& nvml, int number, nvmlDevice_t device,
                    const std::vector<nvmlDevice_t>& mig_devices) {
  GpuReading reading(nvml, number);
  GpuState state;
  state.memory = reading.memory(device);
  for (nvmlDevice_t mig : mig_devices) state.mig_memory.push_back(reading.memory(mig));
  if (auto busy = reading.value<nvmlUtilization_t>(nvml.utilization, device)) {
    state.compute_percent = static_cast<int>(busy->gpu);
    state.memory_percent = static_cast<int>(busy->memory);
  }
  state.celsius = read_celsius(nvml, reading, device);
  state.watts = thousandths(reading.value<unsigned>(nvml.power, device));
  state.limit_watts = thousandths(reading.value<unsigned>(nvml.power_limit, device));
  state.sm_mhz = as_int(reading.value<unsigned>(nvml.clock, device, NVML_CLOCK_SM));
  state.max_sm_mhz = as_int(reading.value<unsigned>(nvml.max_clock, device, NVML_CLOCK_SM));
  state.memory_mhz = as_int(reading.value<unsigned>(nvml.clock, device, NVML_CLOCK_MEM));
  state.max_memory_mhz = as_int(reading.value<unsigned>(nvml.max_clock, device, NVML_CLOCK_MEM));
  state.throttle_reasons = read_throttle_reasons(nvml, reading, device);
  read_counters(nvml, reading, device, state);
  if (reading.condition() == GpuCondition::lost) state = GpuState{};  // also what it told before
  state.condition = reading.condition();
  state.problem = reading.problem();
  return state;
}

std::optional<std::vector<GpuProcess>> read_processes(const NvmlLibrary& nvml, nvmlDevice_t device,
                                                      const std::filesystem::path& root) {
  const auto& function = nvml.processes.there() ? nvml.processes : nvml.old_processes;
  std::vector<nvmlProcessInfo_v2_t> infos(32);
  nvmlReturn_t result = NVML_ERROR_INSUFFICIENT_SIZE;
  // Processes may start between two calls.
  for (int i = 0; i < 5 && result == NVML_ERROR_INSUFFICIENT_SIZE; ++i) {
    auto count = static_cast<unsigned>(infos.size());
    result = function(device, &count, infos.data());
    infos.resize(result == NVML_SUCCESS ? count : size_t{count} + 32);
  }
  if (result != NVML_SUCCESS) return std::nullopt;
  std::vector<GpuProcess> processes;
  for (const nvmlProcessInfo_v2_t& info : infos) processes.push_back(describe_process(info, root));
  return processes;
}

}  // namespace spire

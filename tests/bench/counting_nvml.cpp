// Takes the place of libnvidia-ml.so.1: two GPUs, whose counters grow by 1.5 J and 0.25 J with each
// reading, and one without a counter.
#include <cstring>

namespace {
struct Gpu {
  const char* bus_id;
  unsigned long long millijoules, each;
};
Gpu gpus[] = {{"0000:01:00.0", 5000, 1500}, {"0000:02:00.0", 7, 250}, {"0000:03:00.0", 0, 0}};
}  // namespace

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** handle) {
  for (Gpu& gpu : gpus) {
    if (std::strcmp(gpu.bus_id, id) == 0) {
      *handle = &gpu;
      return 0;
    }
  }
  return 6;  // NVML_ERROR_NOT_FOUND
}
int nvmlDeviceGetTotalEnergyConsumption(void* handle, unsigned long long* millijoules) {
  auto* gpu = static_cast<Gpu*>(handle);
  if (gpu->each == 0) return 3;  // NVML_ERROR_NOT_SUPPORTED
  *millijoules = gpu->millijoules += gpu->each;
  return 0;
}
}

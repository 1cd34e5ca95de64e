// What others do on the GPUs of a host, as NVML and the claims of other runs tell.
#pragma once
#include <cstdint>
#include <string>

#include "engine/device/device.h"
#include "engine/device/gpu_claims.h"
#include "engine/device/nvml/gpu_monitor.h"

namespace spire {

struct GpuUse {
  bool works = true;
  std::string busy;              // why it is not idle: "process 4711 (python) computes"; or ""
  std::string users;             // "process 4711 (python) of ann with 3.0 GiB"; or ""
  int percent = 0;               // percentage of the last 1/6 to 1 s in which a kernel ran
  uint64_t total = 0, free = 0;  // bytes of its memory, and those not used by others; 0: unknown
};

// Looks once. The GPU is not idle (GpuUse::busy) if it does not work, if another process computes
// on it, or if less than nine tenths of its memory are free. NVML knows a GPU by its PCI bus id, a
// MIG device by its UUID. Never throws.
GpuUse look_at(const CudaDeviceInfo& gpu, const GpuMonitor& monitor);

// Returns GpuUse::percent alone; 0: unknown. Does not ask for processes, which is slow.
int percent_of(const CudaDeviceInfo& gpu, const GpuMonitor& monitor);

// Add further reasons why a GPU is not idle. add_percent(): it was in use for a tenth of the time
// or more. add_claim(): another run has claimed it; if none has, this claims it. add_claim() throws
// Error(device) as GpuClaims::claim().
void add_percent(int percent, GpuUse& use);
void add_claim(const CudaDeviceInfo& gpu, GpuClaims& claims, GpuUse& use);

// Returns who or what else is on the GPU, as far as that is known; "" if nothing is.
std::string others_on(const GpuUse& use);

// Returns whether `a` comes before `b`: GPUs that work before others; of these idle ones first,
// then lower `percent` (in steps of 10), then more free memory.
bool is_less_loaded(const GpuUse& a, const GpuUse& b);

}  // namespace spire

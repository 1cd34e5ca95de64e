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
  int percent = 0;               // of the last second or less in which a kernel ran
  uint64_t total = 0, free = 0;  // bytes of its memory not used by others; 0: unknown
};

// Looks once: a GPU is not idle if it does not work, if another process computes on it, or if less
// than nine tenths of its memory are free. NVML knows a GPU by its PCI bus id, a MIG device by its
// UUID. Nothing throws.
GpuUse look_at(const CudaDeviceInfo& gpu, const GpuMonitor& monitor);

// GpuUse::percent alone; 0: unknown. It does not ask for processes, which is slow.
int percent_of(const CudaDeviceInfo& gpu, const GpuMonitor& monitor);

// A GPU that was busy for a tenth of the time is not idle either; nor one that another run claims,
// for which add_claim() asks by claiming it. It throws Error(device) as GpuClaims::claim().
void add_percent(int percent, GpuUse& use);
void add_claim(const CudaDeviceInfo& gpu, GpuClaims& claims, GpuUse& use);

// Returns who or what else is on the GPU, as far as that is known; "" if nothing is.
std::string others_on(const GpuUse& use);

// Orders GPUs: idle ones first, then those with less to do, then those with more free memory; last
// those that do not work.
bool is_less_loaded(const GpuUse& a, const GpuUse& b);

}  // namespace spire

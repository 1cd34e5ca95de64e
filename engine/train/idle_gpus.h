// Choice of idle GPUs on a host that others use, too (devices: auto:N).
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/gpu_claims.h"
#include "engine/device/gpu_monitor.h"

namespace spire::inline training {

struct IdleGpuRequest {
  int count = 1;
  double patience = 0;  // seconds to wait until so many GPUs are idle
  // Waits so many seconds. Returns false to give up, as a signal asks for it.
  std::function<bool(double seconds)> wait;
  std::function<void(std::string_view line)> say;  // says what the run waits for, once a minute
};

struct IdleGpus {
  std::vector<CudaDeviceInfo> chosen;  // at most `count`, all of them claimed
  std::vector<std::string> busy;       // the others: "cuda:0 (process 4711 (python) computes)"
};

// Chooses from `gpus`, those that CUDA shows, and claims them. A GPU is idle if it works, no other
// run claims it, no process computes on it, nine tenths of its memory are free, and it was used
// during less than a tenth of two seconds. Of the idle ones those with most free memory are chosen;
// of equals the first. As long as there are too few, none is claimed. Returns fewer than asked for
// if the time is over or `wait` returned false. Throws Error(device) if NVML, which tells all this,
// cannot be used.
IdleGpus claim_idle_gpus(const std::vector<CudaDeviceInfo>& gpus, const GpuMonitor& monitor,
                         GpuClaims& claims, const IdleGpuRequest& request);

}  // namespace spire::inline training

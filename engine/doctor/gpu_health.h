// Checks of the state of all GPUs of the host as the driver tells it (GpuMonitor).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "engine/device/gpu_monitor.h"
#include "engine/doctor/finding.h"

namespace spire::inline doctor {

struct GpuHealth {
  HostGpu gpu;
  GpuState state;
  std::optional<std::vector<GpuProcess>> processes;  // none: the driver does not tell
};

struct GpusOfHost {
  std::string why_none;  // empty if there is a GPU
  std::vector<GpuHealth> gpus;
};

// Takes milliseconds, and seconds with a GPU that fails.
GpusOfHost read_gpus(const GpuMonitor& monitor);

// Topics: gpu_health (lost, failing, ECC errors, XIDs), gpu_clocks (why they are low), gpu_use
// (other processes), mig.
Findings check_gpus(const GpusOfHost& host);

}  // namespace spire::inline doctor

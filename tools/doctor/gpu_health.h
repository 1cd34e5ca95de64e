// Checks of the state of all GPUs of the host as the driver tells it (GpuMonitor).
#pragma once
#include "engine/device/gpu_monitor.h"
#include "engine/run/machine/finding.h"

namespace spire {

// Topics: gpu_health (lost, failing, ECC errors, XIDs), gpu_clocks (why they are low), gpu_use
// (other processes), mig.
Findings check_gpus(const GpusOfHost& host);

}  // namespace spire

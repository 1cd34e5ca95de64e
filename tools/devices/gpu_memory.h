// Memory of all GPUs of the host and the processes that use it, as lines for `trainer devices`.
#pragma once
#include <string>
#include <vector>

#include "engine/device/gpu_monitor.h"

namespace spire {

// Returns a line for each GPU, by nvidia-smi's number, and one for each MIG device: "gpu 1   NVIDIA
// H200, PCI 0000:3b:00.0, GPU-1b2c...; 79.6 GiB, 69.3 GiB used, 9.7 GiB free: process 4711 (python)
// 39.1 GiB, ...".
std::vector<std::string> gpu_memory_lines(const GpuMonitor& monitor);

}  // namespace spire

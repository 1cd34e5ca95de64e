// The devices of this machine and the versions of their software, as lines for people (trainer
// devices, trainer version).
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/train/hardware.h"

namespace spire {

std::string cores_line();  // the cores that this process may use

// Returns a line for each GPU that this process may use, their software's versions, and what is
// wrong with them: "problem  " ends runs on GPUs, "note     " slows them or is untested. Each has
// its remedy. Starts CUDA in this process, which may take seconds.
std::vector<std::string> gpu_lines();

// Returns a line for each GPU of the host, by nvidia-smi's number, and one for each MIG device:
// "gpu 1   NVIDIA H200, PCI 0000:3b:00.0, GPU-1b2c...; 79.6 GiB, 69.3 GiB used, 9.7 GiB free:
// process 4711 (python) 39.1 GiB, ...".
std::vector<std::string> gpu_memory_lines();

// Returns whether this build has CUDA and finds GPUs, and the versions of CUDA's libraries: the
// first line a sentence, the others indented.
std::vector<std::string> cuda_software_lines();

struct GpuProbe {
  // full: other programs have its memory, so that it could not be tried.
  enum class Outcome : uint8_t { works, full, fails };

  GpuInfo gpu;
  Outcome outcome = Outcome::works;
  std::string problem = {};  // of the other outcomes
};

// Writes, copies and reads memory of each GPU that this process may use, and reports each at once,
// as the next one may hang. Throws Error(device) if there is none. A GPU that fails leaves CUDA of
// this process unusable.
void probe_gpus(const std::function<void(const GpuProbe&)>& report);

}  // namespace spire

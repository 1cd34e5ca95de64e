// Estimates the time of a training step on a GPU that need not be here, from its data sheet, by the
// roofline model:
//   time of an op = max(FLOPs / (share * peak), bytes / (share * bandwidth)) + kernel launches
// Loading data, reductions between devices and partly filled grids are left out. The report names
// the shares that are assumed.
#pragma once
#include <string>

#include <spire/run_config.h>

namespace spire {

struct GpuEstimate {
  std::string gpu;     // its full name
  double seconds = 0;  // of one tower's step: forward, backward and update
  std::string text;    // the assumptions, the time per kind of op and pass, and the ten longest ops
};

// gpu: h100, a100, l4 or rtx4090. Any thread. Throws what train() throws before its first step, and
// Error(config) for an unknown GPU, which lists the known ones.
GpuEstimate estimate_on_gpu(const RunConfig& config, const std::string& gpu);

}  // namespace spire

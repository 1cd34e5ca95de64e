// GPUs of a run that restarts: tests them and leaves out those that fail.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "tools/process/signals.h"
#include "tools/supervisor/child_process.h"

namespace spire::tool {

// Arguments and variables that give a run all GPUs but the lost ones. CUDA numbers the GPUs of
// CUDA_VISIBLE_DEVICES from 0, so device names of the config change with it. Empty where no GPU is
// lost, or none would be left: the run itself then reports that.
struct GpuChoice {
  std::vector<std::string> words;
  std::vector<Variable> variables;
  int left = 0;  // remaining GPUs of those that the config's devices name
};
GpuChoice leave_out(const std::vector<CudaDeviceInfo>& gpus,
                    const std::vector<CudaDeviceInfo>& lost, const RunConfig& config);

// Returns whether the config's devices may be GPUs.
bool may_use_gpus(const RunConfig& config);

class GpuRoster {
 public:
  // gpus: all that were visible at the first start.
  GpuRoster(const RunConfig& config, std::vector<CudaDeviceInfo> gpus);

  // Tests each remaining GPU in its own process, for a minute at most, and returns those that fail
  // now. Where all of them fail it leaves out none. Throws Error(interrupted) on a signal.
  std::vector<CudaDeviceInfo> find_lost(BlockedSignals& signals);

  const GpuChoice& choice() const { return choice_; }
  bool any_lost() const { return !lost_.empty(); }

 private:
  const RunConfig& config_;
  std::vector<CudaDeviceInfo> gpus_, lost_;
  GpuChoice choice_;
};

}  // namespace spire::tool

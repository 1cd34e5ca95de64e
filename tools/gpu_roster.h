// The GPUs of a run that is started again: those that fail are left out.
#pragma once
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "tools/blocked_signals.h"
#include "tools/child_process.h"

namespace spire::tool {

// Words and variables that give a run all of `gpus` but the lost ones. CUDA numbers those that
// CUDA_VISIBLE_DEVICES names from 0 on, so devices that the config names move with them. Empty
// where nothing is lost, or nothing would be left: then the run itself says so.
struct GpuChoice {
  std::vector<std::string> words;
  std::vector<Variable> variables;
  int left = 0;  // of the GPUs that the config's devices mean, how many remain
};
GpuChoice leave_out(const std::vector<CudaDeviceInfo>& gpus,
                    const std::vector<CudaDeviceInfo>& lost, const RunConfig& config);

// Whether these devices may be GPUs.
bool may_use_gpus(const RunConfig& config);

class GpuRoster {
 public:
  // gpus: all that the first start saw.
  GpuRoster(const RunConfig& config, std::vector<CudaDeviceInfo> gpus);

  // Tries each that is left, in a process of its own for a minute at most, and returns those that
  // failed now. Where all fail none is left out. Throws Error(interrupted) when a signal comes.
  std::vector<CudaDeviceInfo> find_lost(BlockedSignals& signals);

  const GpuChoice& choice() const { return choice_; }
  bool any_lost() const { return !lost_.empty(); }

 private:
  const RunConfig& config_;
  std::vector<CudaDeviceInfo> gpus_, lost_;
  GpuChoice choice_;
};

}  // namespace spire::tool

// Conditions of a restart: the GPUs that still work, and the state of the run's directory.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "tools/process/signals.h"
#include "tools/supervisor/child_process.h"

namespace spire::tool {

// Arguments and variables that give a run all GPUs but the lost ones. Empty where no GPU is lost,
// or none would be left: the run itself then reports that.
struct GpuChoice {
  std::vector<std::string> words;
  std::vector<Variable> variables;
  int left = 0;  // remaining GPUs of those that the config's devices name
};
GpuChoice leave_out(const std::vector<CudaDeviceInfo>& gpus,
                    const std::vector<CudaDeviceInfo>& lost, const RunConfig& config);

bool may_use_gpus(const RunConfig& config);  // whether its devices may be GPUs

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

class RunDirState {
 public:
  // Records the directory's state; make it before the run starts.
  explicit RunDirState(std::filesystem::path output);

  bool begun() const;           // the run has taken it over; before, its files are another run's
  bool has_checkpoint() const;  // --resume auto would find one

 private:
  using Stamp = std::array<int64_t, 3>;  // inode, seconds and nanoseconds of the last change
  std::optional<Stamp> config_stamp() const;

  std::filesystem::path output_;
  bool was_empty_;
  std::optional<Stamp> before_;
};

// Options that decide about existing files in the run's directory.
struct ResumeOptions {
  std::optional<std::string> resume;  // --resume
  bool overwrite = false;             // --overwrite
  bool operator==(const ResumeOptions&) const = default;
};
// Returns the options of a restart: those of the start until the run has begun, since another run's
// files must neither be resumed from nor deleted.
ResumeOptions options_for_restart(const ResumeOptions& given, const RunDirState& state);

}  // namespace spire::tool

// What a run's restart depends on: the GPUs that still work, and the state of its directory.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/device.h"
#include "tools/process/child_process.h"
#include "tools/process/signals.h"

namespace spire {

// Arguments and environment variables that give a run all GPUs except the lost ones. Both are empty
// if no GPU is lost, or if none would be left, which the run itself then reports.
struct GpuChoice {
  std::vector<std::string> words;
  std::vector<Variable> variables;
  int left = 0;  // number of GPUs left among those that config.devices names
};
GpuChoice leave_out(const std::vector<CudaDeviceInfo>& gpus,
                    const std::vector<CudaDeviceInfo>& lost, const RunConfig& config);

bool may_use_gpus(const RunConfig& config);  // whether config.devices allows GPUs

class GpuRoster {
 public:
  // gpus: all GPUs that are visible at the first start.
  GpuRoster(const RunConfig& config, std::vector<CudaDeviceInfo> gpus);

  // Tests each remaining GPU in a process of its own, for at most a minute, and returns those that
  // fail; choice() leaves them out from now on. If all of them fail, the cause is not a single GPU,
  // so it leaves out none. Throws Error(interrupted) on a signal.
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
  // Records the directory's present state. Construct it before the run starts.
  explicit RunDirState(std::filesystem::path output);

  bool begun() const;           // the run has started to write; earlier files belong to another run
  bool has_checkpoint() const;  // whether --resume auto would find one

 private:
  using Stamp = std::array<int64_t, 3>;  // inode; time of the last change: s, ns
  std::optional<Stamp> config_stamp() const;

  std::filesystem::path output_;
  bool was_empty_;
  std::optional<Stamp> before_;
};

// The options that decide what happens to existing files in the run's directory.
struct ResumeOptions {
  std::optional<std::string> resume;  // --resume
  bool overwrite = false;             // --overwrite
  bool operator==(const ResumeOptions&) const = default;
};
// Returns the options for a restart. As long as the run has not begun, these are `given`, the
// options of the first start, since files of another run must be neither resumed from nor deleted.
ResumeOptions options_for_restart(const ResumeOptions& given, const RunDirState& state);

}  // namespace spire

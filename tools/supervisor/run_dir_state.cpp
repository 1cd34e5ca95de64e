#include "tools/supervisor/run_dir_state.h"

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/run_directory.h"

namespace spire::tool {

namespace fs = std::filesystem;

RunDirState::RunDirState(fs::path output) : output_(std::move(output)), before_(config_stamp()) {
  was_empty_ = !holds_something(output_);
}

// A run writes config.yaml first of all, right after it has locked the directory.
bool RunDirState::begun() const {
  return was_empty_ || config_stamp() != before_;
}

bool RunDirState::has_checkpoint() const {
  return !CheckpointStore(output_ / "checkpoints", {}).list().empty();
}

std::optional<RunDirState::Stamp> RunDirState::config_stamp() const {
  struct stat status = {};
  if (stat((output_ / "config.yaml").c_str(), &status) != 0) return {};
  return Stamp{status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

ResumeOptions options_for_restart(const ResumeOptions& given, const RunDirState& state) {
  if (!state.begun()) return given;
  // A branch resumes from another directory until it has a checkpoint here.
  bool branch = given.resume && *given.resume != "auto";
  if (branch && !state.has_checkpoint()) return {given.resume, true};
  return {"auto", false};
}

}  // namespace spire::tool

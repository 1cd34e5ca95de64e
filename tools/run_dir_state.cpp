#include "tools/run_dir_state.h"

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/run/run_directory.h"

namespace spire::tool {

namespace fs = std::filesystem;

RunDirState::RunDirState(fs::path output) : output_(std::move(output)), before_(config_stamp()) {
  was_empty_ = !holds_something(output_);
}

// A run writes config.yaml anew, after it has made the directory its own and before all else.
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

TakeUp take_up_again(const TakeUp& given, const RunDirState& traces) {
  if (!traces.begun()) return given;
  bool branch = given.resume && *given.resume != "auto";
  if (branch && !traces.has_checkpoint()) return {given.resume, true};
  return {"auto", false};
}

}  // namespace spire::tool

#include "run_traces.h"

#include <spire/train/checkpoint_store.h>
#include <spire/train/run_directory.h>

namespace spire::tool {

namespace fs = std::filesystem;

RunTraces::RunTraces(fs::path output) : output_(std::move(output)), before_(config_stamp()) {
  was_empty_ = !holds_something(output_);
}

// A run writes config.yaml anew, after it has made the directory its own and before all else.
bool RunTraces::begun() const {
  return was_empty_ || config_stamp() != before_;
}

bool RunTraces::has_checkpoint() const {
  return !CheckpointStore(output_ / "checkpoints", {}).list().empty();
}

std::optional<RunTraces::Stamp> RunTraces::config_stamp() const {
  struct stat status = {};
  if (stat((output_ / "config.yaml").c_str(), &status) != 0) return {};
  return Stamp{status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

TakeUp take_up_again(const TakeUp& given, const RunTraces& traces) {
  if (!traces.begun()) return given;
  bool branch = given.resume && *given.resume != "auto";
  if (branch && !traces.has_checkpoint()) return {given.resume, true};
  return {"auto", false};
}

}  // namespace spire::tool

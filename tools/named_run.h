// A run that the command line names by one of its checkpoints: its config, and that checkpoint.
#pragma once
#include <optional>
#include <string>

#include "engine/checkpoint/checkpoint_locator.h"
#include "tools/arguments.h"
#include "tools/config_source.h"

namespace spire::tool {

struct NamedRun {
  ResolvedConfig resolved;
  std::optional<LoadedCheckpoint> checkpoint;  // none: to train by `auto`, before the run has one
};

// name: as CheckpointLocator has it; without, the run in the output directory. Without --config the
// config that the checkpoint was trained with counts, and keys on the command line change it; a run
// that is named by its directory then writes there, wherever it was when it began. Answers
// --help-config and --print-config on stdout; then nothing is returned. Warnings about checkpoints
// go to stderr as --log-level has it. Throws Error(config), Error(checkpoint).
std::optional<NamedRun> read_named_run(const Arguments& arguments,
                                       const std::optional<std::string>& name, Prefer prefer);

}  // namespace spire::tool

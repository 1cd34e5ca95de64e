// Supervisor of a run: starts its processes (--processes) and restarts them when they fail
// (--max-restarts).
#pragma once
#include <spire/launch.h>
#include <spire/load_config.h>

#include "tools/arguments.h"

namespace spire::tool {

// Returns whether this process supervises the run and takes no part in it.
bool supervises(const Arguments& arguments);

// Throws Error(config) where a launcher started this process: only it can restart its ranks.
void refuse_launcher(const Arguments& arguments, const Environment& environment);

// Starts the run's processes and returns the exit code of the run after all have ended. A death, a
// timeout or an unexpected error restarts it from the newest checkpoint, up to max_restarts times;
// with config.elastic with fewer processes, by the number that died. Throws Error(collective) when
// it gives up, and Error(interrupted) on a signal between two attempts.
int supervise(const Arguments& arguments, const ResolvedConfig& resolved);

}  // namespace spire::tool

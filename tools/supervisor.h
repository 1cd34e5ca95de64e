// The program starts the processes of a run itself, and starts them again when they fail:
// --processes and --max-restarts.
#pragma once
#include <spire/launch.h>
#include <spire/load_config.h>

#include "tools/arguments.h"

namespace spire::tool {

// Whether this process stays outside of the run and looks after those inside.
bool supervises(const Arguments& arguments);

// Error(config) when a launcher has started this process: it alone can start the others.
void refuse_launcher(const Arguments& arguments, const Environment& environment);

// Starts the run's processes and returns its exit code when none of them is left. A generation that
// ended by a death, a timeout or an unexpected error is started again, up to max_restarts times,
// from the newest checkpoint; with config.elastic without as many processes as died.
// Throws Error(collective) when it gives up, and Error(interrupted) when a signal came between two
// generations.
int supervise(const Arguments& arguments, const ResolvedConfig& resolved);

}  // namespace spire::tool

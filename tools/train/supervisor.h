// Starts the processes of a run (--processes) and restarts them when they fail (--max-restarts).
#pragma once
#include <spire/load_config.h>
#include <spire/world.h>

#include "tools/arguments.h"

namespace spire {

// Tells the processes when the supervisor began: steady clock, nanoseconds.
inline constexpr const char* started_variable = "SPIRE_STARTED";

// Returns whether this process is to supervise the run's processes instead of being one of them.
bool supervises(const Arguments& arguments);

// Throws Error(config) if a launcher (mpirun, ...) started this process: only it restarts ranks.
void refuse_launcher(const Arguments& arguments, const Environment& environment);

// Starts the run's processes and returns the run's exit code after all have ended. If one is
// killed, hangs or fails with an unexpected error, restarts the run from the newest checkpoint, at
// most max_restarts times. With config.elastic a restart leaves out as many processes as were
// killed. Throws Error(collective) when it gives up, and Error(interrupted) on a signal between two
// attempts.
int supervise(const Arguments& arguments, const ResolvedConfig& resolved);

}  // namespace spire

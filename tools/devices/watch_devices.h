// trainer devices --watch: samples of the host's devices until Ctrl+C.
#pragma once
#include "tools/arguments.h"

namespace spire {

// Returns the exit code: 0 after the last sample or a signal. Throws Error(device) if stdout cannot
// be written.
int watch_devices(const WatchArguments& arguments);

}  // namespace spire

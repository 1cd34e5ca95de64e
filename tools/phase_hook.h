// What `trainer` hears of the phases of its threads: nothing. Programs that test how a run fails
// are linked with a definition of their own.
#pragma once
#include "engine/process/watchdog/thread_status.h"

namespace spire::tool {

ThreadStatus::Hook phase_hook();

}  // namespace spire::tool

// What `trainer` hears of the phases of its threads: nothing. Programs that test how a run fails
// are linked with a definition of their own.
#pragma once
#include <spire/process/phase_board.h>

namespace spire::tool {

PhaseBoard::Hook phase_hook();

}  // namespace spire::tool

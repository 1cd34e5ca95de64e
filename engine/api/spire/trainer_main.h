// The program `trainer` as a function, for programs that are `trainer` with something added.
#pragma once
#include <spire/export.h>
#include <spire/world.h>

namespace spire {

// Does what `trainer` does with these words, and returns its exit code. For main() alone, once:
// unlike the rest of the library it takes over the process: it handles signals, writes to stdout
// and stderr, and starts this program again for the ranks of a run. on_phase: called on the threads
// of runs.
SPIRE_API int trainer_main(int argc, char** argv, const PhaseHook& on_phase = {});

}  // namespace spire

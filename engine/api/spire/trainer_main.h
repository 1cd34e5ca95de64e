// The program `trainer` as a function, for programs that link more into it, such as hooks of tests.
#pragma once
#include <spire/export.h>
#include <spire/world.h>

namespace spire {

// Does what `trainer` does with these arguments, and returns its exit code. To be called once, by
// main(): unlike the rest of the library it takes over the process. It handles signals, writes to
// stdout and stderr, and starts this program again for the ranks of a run. on_phase: see
// RunOptions::on_phase; may be empty.
SPIRE_API int trainer_main(int argc, char** argv, const PhaseHook& on_phase = {});

}  // namespace spire

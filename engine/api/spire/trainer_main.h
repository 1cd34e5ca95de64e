// The program `trainer` as a function: a program that is `trainer` plus code of its own, such as a
// hook for a test, calls it from main().
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

// Looks for instructions that add floats to memory in whatever order threads come: sums by them
// differ from run to run.
#pragma once
#include <string>

namespace spire::testing {

// "kernel_name: 3 at 0x1a0" of the first kernel with such instructions in a cubin for compute
// capability 7.x to 9.x; empty where none has any. Not seen: loops of compare-and-swap, and atomics
// on shared memory, which are such loops.
std::string float_atomics(const void* cubin);

}  // namespace spire::testing

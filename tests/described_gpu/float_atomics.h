// Search for instructions that add floats to memory in the order in which threads arrive: such sums
// differ from run to run.
#pragma once
#include <string>

namespace spire::testing {

// Returns "kernel_name: 3 at 0x1a0" of the first kernel with such instructions in a cubin for
// compute capability 7.x to 9.x; empty if no kernel has any. Not found: loops of compare-and-swap,
// and atomics on shared memory, which are such loops.
std::string float_atomics(const void* cubin);

}  // namespace spire::testing

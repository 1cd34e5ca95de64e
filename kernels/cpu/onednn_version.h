// The oneDNN whose kernels run on CPUs: with another one a run may round differently.
#pragma once
#include <string>

namespace spire {

// Returns "2.6.3, instruction set 0x1f": the version, and the widest instructions that it uses on
// this processor, in oneDNN's own numbers.
std::string onednn_version();

}  // namespace spire

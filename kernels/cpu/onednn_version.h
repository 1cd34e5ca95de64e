// The oneDNN whose kernels run on CPUs. With another version a run may round differently.
#pragma once
#include <string>

namespace spire {

// Returns "2.6.3, instruction set 0x1f": the version, and the widest instructions that it uses on
// this processor, in oneDNN's own numbers.
std::string onednn_version();

// Whether oneDNN computes in bf16 on this CPU (AVX-512). Where it does not, kernels widen bf16 to
// fp32 and round their results (PrimitiveKernel).
bool onednn_has_bf16();

}  // namespace spire

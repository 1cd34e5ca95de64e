// Attention in words: as keys of what is chosen for it.
#pragma once
#include <string>

#include "kernels/nvidia/cuda_attention.h"

namespace spire::inline kernels {

// "backward bf16 (16, 1024, 2304), 12 heads, causal": the packed shape and all that an
// AttentionShape without dropout says.
std::string to_string(const AttentionShape& shape);

// All that the choice of an engine depends on.
struct AttentionKey {
  std::string device;  // CudaLibraries::kind()
  AttentionShape shape;
  size_t max_workspace = 0;
};
std::string to_string(const AttentionKey& key);

}  // namespace spire::inline kernels

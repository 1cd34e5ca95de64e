// Keys of engine choices: an operation, the device and the limits, as one line of text. Keys are in
// checkpoints and caches.
#pragma once
#include <string>

#include "kernels/nvidia/attention.h"
#include "kernels/nvidia/convolution.h"

namespace spire::inline kernels {

// All of a ConvolutionShape: "forward bf16 (32,28,28,64) to (32,28,28,128), kernel 3x3, stride 1,
// padding 1, dilation 1, groups 1, bias, relu". Messages use it, too.
std::string to_string(const ConvolutionShape& shape);

// All that the choice of a convolution's engine depends on.
struct ConvolutionKey {
  std::string device;  // CudaLibraries::kind()
  ConvolutionShape shape;
  bool tensor_cores = true;  // may be used
  size_t max_workspace = 0;  // bytes
};
std::string to_string(const ConvolutionKey& key);

// The packed shape and all else of an AttentionShape but dropout, which no library engine computes:
// "backward bf16 (16, 1024, 2304), 12 heads, causal".
std::string to_string(const AttentionShape& shape);

// All that the choice of an attention engine depends on.
struct AttentionKey {
  std::string device;  // CudaLibraries::kind()
  AttentionShape shape;
  size_t max_workspace = 0;  // bytes
};
std::string to_string(const AttentionKey& key);

}  // namespace spire::inline kernels

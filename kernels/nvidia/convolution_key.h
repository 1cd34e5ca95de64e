// Convolutions in words: for messages, and as keys of what is chosen for them.
#pragma once
#include <string>

#include "kernels/nvidia/cuda_convolution.h"

namespace spire::inline kernels {

// "forward bf16 (32,28,28,64) to (32,28,28,128), kernel 3x3, stride 1, padding 1, dilation 1,
// groups 1, bias, relu": all that a ConvolutionShape says.
std::string to_string(const ConvolutionShape& shape);

// All that the choice of an engine depends on.
struct ConvolutionKey {
  std::string device;  // CudaLibraries::kind()
  ConvolutionShape shape;
  bool tensor_cores = true;  // it may use them
  size_t max_workspace = 0;
};
std::string to_string(const ConvolutionKey& key);

}  // namespace spire::inline kernels

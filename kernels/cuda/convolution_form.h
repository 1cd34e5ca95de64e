// Forms of a convolution (ways to compute it that differ in library, result dtype and fused
// passes), and the key under which a choice of an engine is stored.
#pragma once
#include <string>
#include <vector>

#include "kernels/cuda/convolution.h"
#include "kernels/cuda/product.h"

namespace spire {

struct ConvolutionForm {
  DType result;  // dtype that the pass writes
  bool fused;    // true: the engine adds the bias, too; false: add_bias_relu_cuda() must follow
  bool product = false;      // true: a matrix product by cuBLASLt; false: a convolution by cuDNN
  bool last_resort = false;  // true: its engines are tried only if no other form has any
};

// Returns all forms in order of preference; some may have no engine.
std::vector<ConvolutionForm> forms_of(const ConvolutionShape& shape);

// Returns the prefix of the names of a form's engines: "fp32", "bf16", "bf16 unfused".
std::string to_string(const ConvolutionForm& form);

// Describe a convolution with kernel 1x1, stride 1, no padding and one group as a matrix product:
// its shape, and its operands. Rows are the pixels of all images: x (N H W, C), y (N H W, O),
// filter (O, C).
ProductShape product_shape(const ConvolutionShape& shape, const ConvolutionForm& form);
ProductPointers product_pointers(const ConvolutionShape& shape, const ConvolutionForm& form,
                                 const ConvolutionPointers& pointers);

// Returns "forward bf16 (32, 28, 28, 64) to (32, 28, 28, 128), kernel 3x3, stride 1, padding 1,
// dilation 1, groups 1, bias, relu", for keys and messages.
std::string to_string(const ConvolutionShape& shape);

// All that the choice of an engine depends on. Checkpoints and caches store it as one line of text.
struct ConvolutionKey {
  std::string device;  // CudaLibraries::kind()
  ConvolutionShape shape;
  bool tensor_cores = true;  // engines may use them
  size_t max_workspace = 0;  // bytes
};
std::string to_string(const ConvolutionKey& key);

}  // namespace spire

// The ways to compute a convolution: by which library, in which dtype, and with what fused.
#pragma once
#include <string>
#include <vector>

#include "kernels/nvidia/cuda_convolution.h"
#include "kernels/nvidia/cuda_product.h"

namespace spire::inline kernels {

struct ConvolutionForm {
  DType result;          // of what the pass writes
  bool fused;            // bias and relu are the engine's; else a pass behind it
  bool product = false;  // of matrices, by cuBLASLt; else a convolution by cuDNN
};

// All that there may be for a shape; a library need not have an engine for each. Where nothing
// is measured the first one with an engine is taken: it fuses, and rounds the least. A filter's
// gradient has two: in fp32, and for 16-bit tensors in their dtype, rounded once from the fp32 sum.
std::vector<ConvolutionForm> forms_of(const ConvolutionShape& shape);

// What the names of a form's engines begin with: "fp32", "bf16", "bf16 unfused".
std::string to_string(const ConvolutionForm& form);

// A convolution of kernel 1x1, stride 1, no padding and one group is a product of matrices whose
// rows are the pixels of all images: x (N H W, C), y (N H W, O), filter (O, C).
ProductShape product_shape(const ConvolutionShape& shape, const ConvolutionForm& form);
ProductPointers product_pointers(const ConvolutionShape& shape, const ConvolutionForm& form,
                                 const ConvolutionPointers& pointers);

}  // namespace spire::inline kernels

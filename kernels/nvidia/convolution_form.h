// Forms of a convolution: ways to compute it that differ in library, result dtype and fused passes.
#pragma once
#include <string>
#include <vector>

#include "kernels/nvidia/convolution.h"
#include "kernels/nvidia/product.h"

namespace spire::inline kernels {

struct ConvolutionForm {
  DType result;          // dtype that the pass writes
  bool fused;            // the engine does bias and relu; else a pass after it
  bool product = false;  // a product of matrices by cuBLASLt; else a convolution by cuDNN
};

// Returns all forms of a shape, the one that fuses most and rounds least first; a form need not
// have an engine. A filter's gradient of 16-bit tensors is fp32, or rounded once to 16 bits.
std::vector<ConvolutionForm> forms_of(const ConvolutionShape& shape);

// Returns the prefix of the names of a form's engines: "fp32", "bf16", "bf16 unfused".
std::string to_string(const ConvolutionForm& form);

// A convolution with kernel 1x1, stride 1, no padding and one group is a product of matrices with
// the pixels of all images as rows: x (N H W, C), y (N H W, O), filter (O, C).
ProductShape product_shape(const ConvolutionShape& shape, const ConvolutionForm& form);
ProductPointers product_pointers(const ConvolutionShape& shape, const ConvolutionForm& form,
                                 const ConvolutionPointers& pointers);

}  // namespace spire::inline kernels

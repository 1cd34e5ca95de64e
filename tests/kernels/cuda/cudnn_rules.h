// Rules of the engines that cuDNN has, for tests without cuDNN. cudnn_test checks them.
#pragma once
#include "kernels/cuda/convolution_form.h"

namespace spire::testing {

// Returns true if cuDNN can write a filter's gradient in fp32.
inline bool has_fp32_weight_gradient(const ConvolutionShape& shape) {
  bool even = shape.x[3] % 2 == 0 && shape.y[3] % 2 == 0;
  return shape.dtype == DType::f32 || (even && shape.groups == 1);
}

// Returns true if a GPU kernel rounds it to 16 bits when nothing was measured. The shape's pass and
// dtype do not matter.
inline bool rounds_weight_gradient(ConvolutionShape shape) {
  shape.pass = ConvolutionPass::backward_weights;
  shape.dtype = DType::bf16;
  return !forms_of(shape).front().product;
}

}  // namespace spire::testing

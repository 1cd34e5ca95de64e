// Shapes and gradients of softmax and log_softmax. The backward reads y, so x need not be kept.
#include "kernels/ops/softmax/softmax.h"

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

namespace spire {

std::vector<TensorSpec> SoftmaxOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1,
         "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

void SoftmaxOp::gradient(GradientBuilder& builder) const {
  emit_gradient<SoftmaxBackwardOp>(builder, 0, {builder.output_gradient(0), builder.output(0)},
                                   attributes_);
}

std::vector<TensorSpec> SoftmaxBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, inputs[0] == inputs[1], "gradient {} does not fit {}", to_string(inputs[0]),
         to_string(inputs[1]));
  expect(*this, is_float_type(inputs[0].dtype) && inputs[0].shape.rank() >= 1,
         "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

}  // namespace spire

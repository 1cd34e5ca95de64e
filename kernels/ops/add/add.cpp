#include "kernels/ops/add/add.h"

#include "kernels/float_type.h"
#include "kernels/ops/activation/activation.h"

namespace spire::inline kernels {

std::vector<TensorSpec> AddOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, inputs[0] == inputs[1], "cannot add {} and {}", to_string(inputs[0]),
         to_string(inputs[1]));
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

void AddOp::gradient(GradientBuilder& builder) const {
  Value gradient = builder.output_gradient(0);
  if (!gradient || !(builder.wants_gradient(0) || builder.wants_gradient(1))) return;
  if (relu_) {
    auto relu = std::make_unique<ActivationBackwardOp>(ActivationAttributes{Activation::relu});
    gradient = builder.emit(std::move(relu), {gradient, builder.output(0)})[0];
  }
  for (int i : {0, 1}) {
    if (builder.wants_gradient(i)) builder.set_gradient(i, gradient);
  }
}

std::unique_ptr<Op> AddOp::with_relu() const {
  return relu_ ? nullptr : std::make_unique<AddOp>(true);
}

}  // namespace spire::inline kernels

// Shape and gradient of cast.
#include "kernels/ops/cast/cast.h"

#include <spire/op_checks.h>

namespace spire {

std::vector<TensorSpec> CastOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, is_float_type(inputs[0].dtype) && is_float_type(dtype_),
         "converts between fp32, bf16 and fp16, not {} to {}", to_string(inputs[0]),
         spire::name(dtype_));
  return {{inputs[0].shape, dtype_}};
}

void CastOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  auto back = std::make_unique<CastOp>(builder.spec(builder.input(0)).dtype);
  builder.set_gradient(0, builder.emit(std::move(back), {dy})[0]);
}

}  // namespace spire

// Shapes and gradient of dropout. In evaluation y is a view of x, and dx = dy.
#include "kernels/ops/dropout/dropout.h"

#include "kernels/expect.h"

namespace spire {

namespace {

void expect_droppable(const Op& op, const TensorSpec& x, float rate) {
  expect(op, is_float_type(x.dtype) && x.shape.rank() >= 1, "cannot compute on {}", to_string(x));
  expect(op, rate >= 0 && rate < 1, "rate {} is outside [0, 1)", rate);
}

}  // namespace

TensorSpec dropout_key_spec() {
  return {{1}, DType::i32};
}

int32_t dropout_key(const Op& op, int op_id) {
  expect(op, op_id < 1 << 16, "is op {} of its graph, and dropout draws for the first 65536 alone",
         op_id);
  return op_id;
}

std::vector<TensorSpec> DropoutOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect_droppable(*this, inputs[0], attributes_.rate);
  if (!attributes_.training) return {inputs[0]};  // a view, which needs no key
  return {inputs[0], dropout_key_spec()};
}

void DropoutOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  if (attributes_.training) {
    auto backward = std::make_unique<DropoutBackwardOp>(attributes_);
    dy = builder.emit(std::move(backward), {dy, builder.output(1)})[0];
  }
  builder.set_gradient(0, dy);
}

std::vector<TensorSpec> DropoutBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_droppable(*this, inputs[0], attributes_.rate);
  expect(*this, inputs[1] == dropout_key_spec(), "the key is {}", to_string(inputs[1]));
  return {inputs[0]};
}

}  // namespace spire

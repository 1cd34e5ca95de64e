// Shapes and gradients of activations. The backward reads y where f' follows from y, else x: so the
// input of most activations need not be kept.
#include "kernels/ops/activation/activation.h"

#include <array>

#include <spire/op_checks.h>

namespace spire {

namespace {

struct Names {
  std::string_view forward, backward;
};

// In the order of Activation.
constexpr std::array<Names, 13> names = {{{"relu", "relu_backward"},
                                          {"leaky_relu", "leaky_relu_backward"},
                                          {"gelu", "gelu_backward"},
                                          {"gelu_tanh", "gelu_tanh_backward"},
                                          {"silu", "silu_backward"},
                                          {"sigmoid", "sigmoid_backward"},
                                          {"tanh", "tanh_backward"},
                                          {"affine", "affine_backward"},
                                          {"exp", "exp_backward"},
                                          {"log", "log_backward"},
                                          {"square", "square_backward"},
                                          {"sqrt", "sqrt_backward"},
                                          {"abs", "abs_backward"}}};

// f' of those that are not monotonic is no function of y; that of log would overflow.
bool reads_input(Activation kind) {
  return kind == Activation::gelu || kind == Activation::gelu_tanh || kind == Activation::silu ||
         kind == Activation::log || kind == Activation::square || kind == Activation::abs;
}

}  // namespace

void refuse_activation() {
  fail(Category::unexpected, "unknown activation");
}

std::string_view name(Activation activation) {
  return names[static_cast<size_t>(activation)].forward;
}

std::vector<TensorSpec> ActivationOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  // The backward reads the sign of x from y.
  expect(*this, attributes_.slope >= 0, "slope is {}; it must not be negative", attributes_.slope);
  return {inputs[0]};
}

void ActivationOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !builder.wants_gradient(0)) return;
  if (attributes_.kind == Activation::affine) {  // dx = factor dy
    auto scaled = std::make_unique<ActivationOp>(
        ActivationAttributes{.kind = Activation::affine, .factor = attributes_.factor});
    builder.set_gradient(0, builder.emit(std::move(scaled), {dy})[0]);
    return;
  }
  Value v = reads_input(attributes_.kind) ? builder.input(0) : builder.output(0);
  auto dx = builder.emit(std::make_unique<ActivationBackwardOp>(attributes_), {dy, v});
  builder.set_gradient(0, dx[0]);
}

std::string_view ActivationBackwardOp::name() const {
  return names[static_cast<size_t>(attributes_.kind)].backward;
}

std::vector<TensorSpec> ActivationBackwardOp::infer(std::span<const TensorSpec> inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, inputs[0] == inputs[1], "gradient {} does not fit {}", to_string(inputs[0]),
         to_string(inputs[1]));
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

Value through_relu(GradientBuilder& builder, Value dy) {
  ActivationAttributes relu{.kind = Activation::relu};
  return builder.emit(std::make_unique<ActivationBackwardOp>(relu), {dy, builder.output(0)})[0];
}

}  // namespace spire

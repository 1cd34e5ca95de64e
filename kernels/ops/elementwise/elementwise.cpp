// Shapes and gradients of elementwise ops. The backward of an activation reads y where f' follows
// from y, else x: so the input of most activations need not be kept.
#include "kernels/ops/elementwise/elementwise.h"

#include <array>

#include "kernels/expect.h"
#include "kernels/spec_checks.h"

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
struct BinaryWords {
  std::string_view name, verb;
};

// In the order of Binary.
constexpr std::array<BinaryWords, 4> binary_words = {
    {{"add", "add"}, {"mul", "multiply"}, {"sub", "subtract"}, {"div", "divide"}}};

Value negative(GradientBuilder& builder, Value x) {
  ActivationAttributes minus_x{.kind = Activation::affine, .factor = -1};
  return builder.emit(std::make_unique<ActivationOp>(minus_x), {x})[0];
}

}  // namespace

void refuse_activation() {
  fail(Category::unexpected, "unknown activation");
}

std::string_view to_string(Activation activation) {
  return names[static_cast<size_t>(activation)].forward;
}

std::vector<TensorSpec> ActivationOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  // The backward reads the sign of x from y.
  expect(*this, attributes_.slope >= 0, "slope is {}; it must not be negative", attributes_.slope);
  return {inputs[0]};
}

void ActivationOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (attributes_.kind == Activation::affine) {  // dx = factor dy
    ActivationAttributes scaled{.kind = Activation::affine, .factor = attributes_.factor};
    return emit_gradient<ActivationOp>(builder, 0, {dy}, scaled);
  }
  Value v = reads_input(attributes_.kind) ? builder.input(0) : builder.output(0);
  emit_gradient<ActivationBackwardOp>(builder, 0, {dy, v}, attributes_);
}

std::string_view ActivationBackwardOp::name() const {
  return names[static_cast<size_t>(attributes_.kind)].backward;
}

std::vector<TensorSpec> ActivationBackwardOp::infer(TensorSpecs inputs) const {
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

template <Binary kind>
std::string_view BinaryOp<kind>::name() const {
  return binary_words[static_cast<size_t>(kind)].name;
}

template <Binary kind>
std::vector<TensorSpec> BinaryOp<kind>::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect(*this, inputs[0] == inputs[1], "cannot {} {} and {}",
         binary_words[static_cast<size_t>(kind)].verb, to_string(inputs[0]), to_string(inputs[1]));
  expect(*this, is_float_type(inputs[0].dtype), "cannot compute on {}", to_string(inputs[0]));
  return {inputs[0]};
}

template <>
void AddOp::gradient(GradientBuilder& builder) const {
  Value gradient = builder.output_gradient(0);
  if (!gradient || !(builder.wants_gradient(0) || builder.wants_gradient(1))) return;
  if (relu_) gradient = through_relu(builder, gradient);
  set_gradients(builder, std::array{gradient, gradient});
}

template <>
void MulOp::gradient(GradientBuilder& builder) const {
  for (int i : {0, 1})  // da = dy b, db = dy a
    emit_gradient<MulOp>(builder, i, {builder.output_gradient(0), builder.input(1 - i)});
}

template <>
void SubOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy) return;
  if (builder.wants_gradient(0)) builder.set_gradient(0, dy);
  if (builder.wants_gradient(1)) builder.set_gradient(1, negative(builder, dy));
}

template <>
void DivOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (!dy || !(builder.wants_gradient(0) || builder.wants_gradient(1))) return;
  Value da = builder.emit(std::make_unique<DivOp>(), {dy, builder.input(1)})[0];
  if (builder.wants_gradient(0)) builder.set_gradient(0, da);
  if (!builder.wants_gradient(1)) return;
  Value product = builder.emit(std::make_unique<MulOp>(), {builder.output(0), da})[0];
  builder.set_gradient(1, negative(builder, product));
}

template <Binary kind>
std::unique_ptr<Op> BinaryOp<kind>::with_relu() const {
  return kind != Binary::add || relu_ ? nullptr : std::make_unique<BinaryOp>(true);
}

template class BinaryOp<Binary::add>;
template class BinaryOp<Binary::mul>;
template class BinaryOp<Binary::sub>;
template class BinaryOp<Binary::div>;

std::vector<TensorSpec> CastOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  expect(*this, is_float_type(inputs[0].dtype) && is_float_type(dtype_),
         "converts between fp32, bf16 and fp16, not {} to {}", to_string(inputs[0]),
         spire::to_string(dtype_));
  return {{inputs[0].shape, dtype_}};
}

void CastOp::gradient(GradientBuilder& builder) const {
  emit_gradient<CastOp>(builder, 0, {builder.output_gradient(0)},
                        builder.spec(builder.input(0)).dtype);
}

namespace {

// Returns the spec of y.
TensorSpec half_of(const Op& op, const TensorSpec& x) {
  bool fits = x.shape.rank() >= 1 && x.shape.elements() > 0 && x.shape.back() % 2 == 0;
  expect(op, fits && is_float_type(x.dtype),
         "takes as many gates as values (.., 2F) of fp32, bf16 or fp16, got {}", to_string(x));
  TensorSpec y{x.shape, x.dtype};
  y.shape[y.shape.rank() - 1] /= 2;
  return y;
}

}  // namespace

std::vector<TensorSpec> SwigluOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 1, 1);
  return {half_of(*this, inputs[0])};
}

void SwigluOp::gradient(GradientBuilder& builder) const {
  emit_gradient<SwigluBackwardOp>(builder, 0, {builder.output_gradient(0), builder.input(0)});
}

std::vector<TensorSpec> SwigluBackwardOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_taken(*this, inputs[0], half_of(*this, inputs[1]), "dy");
  return {inputs[1]};
}

}  // namespace spire

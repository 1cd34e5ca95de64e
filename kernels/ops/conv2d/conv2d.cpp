// Shapes, gradients and work of convolutions. Behind a relu, dy is masked by y > 0 first. The
// gradients of a transposed convolution are a convolution and its weight gradient.
#include "kernels/ops/conv2d/conv2d.h"

#include "kernels/expect.h"
#include "kernels/ops/elementwise/activation.h"
#include "kernels/spec_checks.h"

namespace spire {

namespace {

// Checks x against w and returns the spec of y.
TensorSpec convolved(const Op& op, const Conv2dAttributes& g, const TensorSpec& x, const Shape& w) {
  expect_nhwc(op, x);
  expect(op, w.rank() == 4, "takes weights (O, C/groups, KH, KW), got {}", to_string(w));
  int64_t channels = x.shape[3], outputs = w[0];
  expect(op, g.groups > 0, "groups must be at least 1, got {}", g.groups);
  expect(op, channels % g.groups == 0 && outputs > 0 && outputs % g.groups == 0,
         "{} groups do not divide {} input and {} output channels", g.groups, channels, outputs);
  expect(op, w[1] * g.groups == channels,
         "weights {} with {} groups take {} channels, the input {} has {}", to_string(w), g.groups,
         w[1] * g.groups, to_string(x.shape), channels);
  Window window{{w[2], w[3]}, g.stride, g.padding, g.dilation};
  Extent2d out = slide(op, window, extent_of(x.shape));
  return {{x.shape[0], out.h, out.w, outputs}, x.dtype};
}

void expect_attributes(const Op& op, const ConvTranspose2dAttributes& a) {
  expect(op, a.stride.h > 0 && a.stride.w > 0, "stride must be at least 1, got {}",
         to_short_string(a.stride));
  expect(op, a.padding.h >= 0 && a.padding.w >= 0, "padding must not be negative, got {}",
         to_short_string(a.padding));
  expect(op, a.dilation.h > 0 && a.dilation.w > 0, "dilation must be at least 1, got {}",
         to_short_string(a.dilation));
  // Output padding tells apart the sizes of y that a convolution with this stride maps to one size
  // of x; there are `stride` of them.
  bool within = a.output_padding.h >= 0 && a.output_padding.w >= 0 &&
                a.output_padding.h < a.stride.h && a.output_padding.w < a.stride.w;
  expect(op, within, "output padding {} must be less than stride {}",
         to_short_string(a.output_padding), to_short_string(a.stride));
  expect(op, a.groups > 0, "groups must be at least 1, got {}", a.groups);
}

void expect_weights(const Op& op, const ConvTranspose2dAttributes& a, const TensorSpec& x,
                    const TensorSpec& w) {
  expect(op, w.shape.rank() == 4 && w.shape.elements() > 0 && w.dtype == DType::f32,
         "takes weights fp32 (I, O/groups, KH, KW), got {}", to_string(w));
  expect(op, w.shape[0] == x.shape[3], "weights {} take {} channels, the input {} has {}",
         to_string(w.shape), w.shape[0], to_string(x.shape), x.shape[3]);
  expect(op, x.shape[3] % a.groups == 0, "{} groups do not divide {} input channels", a.groups,
         x.shape[3]);
}

}  // namespace

std::vector<TensorSpec> Conv2dOp::infer(TensorSpecs inputs) const {
  size_t count = attributes_.bias ? 3 : 2;
  expect_inputs(*this, inputs, count, count);
  TensorSpec y = convolved(*this, attributes_, inputs[0], inputs[1].shape);
  expect(*this, inputs[1].dtype == DType::f32, "weights must be fp32, got {}",
         spire::to_string(inputs[1].dtype));
  if (attributes_.bias) expect_like(*this, inputs[2], {{y.shape[3]}, DType::f32}, "bias");
  return {y};
}

int64_t Conv2dOp::multiply_adds(TensorSpecs inputs, TensorSpecs outputs) const {
  const Shape& w = inputs[1].shape;
  return outputs[0].shape.elements() * w[1] * w[2] * w[3];
}

void Conv2dOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0);
  if (attributes_.relu) dy = through_relu(builder, dy);
  Conv2dAttributes attributes = attributes_;
  attributes.relu = false;
  attributes.bias = attributes_.bias && builder.wants_gradient(2);
  emit_gradient<Conv2dBackwardDataOp>(builder, 0, {dy, builder.input(1)}, attributes,
                                      builder.spec(builder.input(0)));
  // dw and db are one op, as both read dy.
  if (!builder.wants_gradient(1) && !attributes.bias) return;
  Shape w = builder.spec(builder.input(1)).shape;
  auto op = std::make_unique<Conv2dBackwardWeightsOp>(attributes, w);
  set_gradients(builder, builder.emit(std::move(op), {builder.input(0), dy}), 1);
}

std::unique_ptr<Op> Conv2dOp::with_relu() const {
  if (attributes_.relu) return nullptr;
  Conv2dAttributes attributes = attributes_;
  attributes.relu = true;
  return std::make_unique<Conv2dOp>(attributes);
}

std::vector<TensorSpec> Conv2dBackwardDataOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  TensorSpec y = convolved(*this, attributes_, x_, inputs[1].shape);
  expect_taken(*this, inputs[0], y, "the gradient of");
  return {x_};
}

int64_t Conv2dBackwardDataOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  const Shape& w = inputs[1].shape;
  return inputs[0].shape.elements() * w[1] * w[2] * w[3];
}

std::vector<TensorSpec> Conv2dBackwardWeightsOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  expect_taken(*this, inputs[1], convolved(*this, attributes_, inputs[0], w_), "the gradient of");
  std::vector<TensorSpec> gradients{{w_, DType::f32}};
  if (attributes_.bias) gradients.push_back({{w_[0]}, DType::f32});
  return gradients;
}

int64_t Conv2dBackwardWeightsOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  return inputs[1].shape.elements() * w_[1] * w_[2] * w_[3];
}

std::vector<TensorSpec> ConvTranspose2dOp::infer(TensorSpecs inputs) const {
  expect_inputs(*this, inputs, 2, 2);
  const TensorSpec &x = inputs[0], &w = inputs[1];
  const auto& a = attributes_;
  expect_nhwc(*this, x);
  expect_attributes(*this, a);
  expect_weights(*this, a, x, w);
  int64_t height = (x.shape[1] - 1) * a.stride.h - 2 * a.padding.h +
                   a.dilation.h * (w.shape[2] - 1) + a.output_padding.h + 1;
  int64_t width = (x.shape[2] - 1) * a.stride.w - 2 * a.padding.w +
                  a.dilation.w * (w.shape[3] - 1) + a.output_padding.w + 1;
  expect(*this, height > 0 && width > 0, "padding {} leaves nothing of the output",
         to_short_string(a.padding));
  return {{{x.shape[0], height, width, w.shape[1] * a.groups}, x.dtype}};
}

int64_t ConvTranspose2dOp::multiply_adds(TensorSpecs inputs, TensorSpecs) const {
  const Shape& w = inputs[1].shape;
  return inputs[0].shape.elements() * w[1] * w[2] * w[3];
}

// In the convolution from y to x, whose data gradient this op is, dy is the input and x's gradient
// the output: dx is that convolution of dy, dw its weight gradient.
void ConvTranspose2dOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0), x = builder.input(0), w = builder.input(1);
  Conv2dAttributes convolution = attributes_.convolution();
  emit_gradient<Conv2dOp>(builder, 0, {dy, w}, convolution);
  emit_gradient<Conv2dBackwardWeightsOp>(builder, 1, {dy, x}, convolution, builder.spec(w).shape);
}

}  // namespace spire

#include "kernels/ops/conv_transpose2d/conv_transpose2d.h"

namespace spire::inline kernels {

namespace {

void expect_attributes(const Op& op, const ConvTranspose2dAttributes& a) {
  expect(op, a.stride.h > 0 && a.stride.w > 0, "stride must be at least 1, got {}",
         to_short_string(a.stride));
  expect(op, a.padding.h >= 0 && a.padding.w >= 0, "padding must not be negative, got {}",
         to_short_string(a.padding));
  expect(op, a.dilation.h > 0 && a.dilation.w > 0, "dilation must be at least 1, got {}",
         to_short_string(a.dilation));
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

std::vector<TensorSpec> ConvTranspose2dOp::infer(std::span<const TensorSpec> inputs) const {
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

int64_t ConvTranspose2dOp::multiply_adds(std::span<const TensorSpec> inputs,
                                         std::span<const TensorSpec>) const {
  const Shape& w = inputs[1].shape;
  return inputs[0].shape.elements() * w[1] * w[2] * w[3];
}

void ConvTranspose2dOp::gradient(GradientBuilder& builder) const {
  Value dy = builder.output_gradient(0), x = builder.input(0), w = builder.input(1);
  Conv2dAttributes convolution = attributes_.convolution();
  if (builder.wants_gradient(0)) {
    builder.set_gradient(0, builder.emit(std::make_unique<Conv2dOp>(convolution), {dy, w})[0]);
  }
  if (!builder.wants_gradient(1)) return;
  auto op = std::make_unique<Conv2dBackwardWeightsOp>(convolution, builder.spec(w).shape);
  builder.set_gradient(1, builder.emit(std::move(op), {dy, x})[0]);
}

}  // namespace spire::inline kernels

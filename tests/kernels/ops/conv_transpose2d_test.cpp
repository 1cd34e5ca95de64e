#include <tests/kernels/cuda/cudnn_rules.h>
#include <tests/kernels/op_test.h>

#include "kernels/ops/conv2d/conv2d.h"

namespace spire::testing {
namespace {

// The definition, in float64: each input pixel adds its weighted kernel to the output.
HostTensor stamp(const ConvTranspose2dAttributes& a, std::span<const HostTensor> in,
                 const Shape& out) {
  const HostTensor &x = in[0], &w = in[1];
  int64_t inputs = x.shape[3], outputs = w.shape[1], height = w.shape[2], width = w.shape[3];
  HostTensor y = zeros(out);
  for (int64_t e = 0; e < x.size(); ++e) {
    int64_t c = e % inputs, j = e / inputs % x.shape[2], i = e / inputs / x.shape[2] % x.shape[1];
    int64_t n = e / inputs / x.shape[2] / x.shape[1], group = c / (inputs / a.groups);
    for (int64_t k = 0; k < outputs * height * width; ++k) {
      int64_t o = k / height / width, r = k / width % height, s = k % width;
      int64_t p = i * a.stride.h - a.padding.h + r * a.dilation.h;
      int64_t q = j * a.stride.w - a.padding.w + s * a.dilation.w;
      if (p < 0 || p >= out[1] || q < 0 || q >= out[2]) continue;
      y[((n * out[1] + p) * out[2] + q) * out[3] + group * outputs + o] +=
          x[e] * w[c * outputs * height * width + k];
    }
  }
  return y;
}

Shape shape_of(const Op& op, const Shape& x, const Shape& w) {
  return op.infer(std::vector<TensorSpec>{{x, DType::f32}, {w, DType::f32}})[0].shape;
}

OpCase transpose_case(Shape x, Shape w, ConvTranspose2dAttributes attributes) {
  OpCase test;
  test.op = std::make_shared<ConvTranspose2dOp>(attributes);
  test.inputs = {activation(uniform(x, 11)), parameter(uniform(w, 12))};
  Shape out = shape_of(*test.op, x, w);
  test.reference = [=](std::span<const HostTensor> in) {
    return std::vector<HostTensor>{stamp(attributes, in, out)};
  };
  test.magnitude = [=](std::span<const HostTensor> in) { return test.reference(absolute(in)); };
  test.gradient_samples = 12;
  Conv2dAttributes same = attributes.convolution();
  Window window{{w[2], w[3]}, same.stride, same.padding, same.dilation};
  test.coarse = rounds_weight_gradient({.x = out, .y = x, .window = window, .groups = same.groups});
  return test;
}

class ConvTranspose2dTest : public OpTest {};

TEST_P(ConvTranspose2dTest, EveryStridePaddingAndOutputPadding) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t padding : {0, 1}) {
      for (int64_t more = 0; more < std::min<int64_t>(stride, 2); ++more) {
        SCOPED_TRACE(fmt::format("stride {} padding {} output padding {}", stride, padding, more));
        ConvTranspose2dAttributes a{{stride, stride}, {padding, padding}, {more, more}};
        check_op(transpose_case({2, 4, 5, 3}, {3, 5, 3, 3}, a), GetParam());
      }
    }
  }
}

// The forms that conv2d has, too, besides stride and padding.
TEST_P(ConvTranspose2dTest, DilationGroupsAndUnequalSides) {
  check_op(transpose_case({1, 4, 3, 4}, {4, 2, 3, 3}, {.padding = {1, 1}, .dilation = {2, 2}}),
           GetParam());
  check_op(transpose_case({2, 3, 4, 6}, {6, 2, 3, 3}, {.stride = {2, 2}, .groups = 2}), GetParam());
  check_op(transpose_case({1, 5, 3, 4}, {4, 3, 5, 2},
                          {.stride = {2, 1}, .padding = {2, 0}, .output_padding = {1, 0}}),
           GetParam());
}

TEST_P(ConvTranspose2dTest, ManyChannels) {
  check_op(transpose_case({1, 4, 4, 32}, {32, 16, 2, 2}, {.stride = {2, 2}}), GetParam());
  check_op(transpose_case({1, 3, 3, 16}, {16, 1, 4, 4}, {.stride = {2, 2}, .padding = {1, 1}}),
           GetParam());
}

// Wide enough for Winograd's algorithm on a CPU, in the data gradient's form.
TEST_P(ConvTranspose2dTest, WideWindowsOf3x3) {
  for (int64_t padding : {0, 1, 2}) {
    SCOPED_TRACE(padding);
    OpCase test = transpose_case({1, 6, 5, 32}, {32, 48, 3, 3}, {.padding = {padding, padding}});
    test.gradient_samples = 4;
    check_op(test, GetParam());
  }
}

SPIRE_TEST_EVERYWHERE(ConvTranspose2dTest);

// A convolution with these attributes maps the output's extent back to the input's.
TEST(ConvTranspose2dShapes, InvertThoseOfTheConvolution) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t more = 0; more < stride; ++more) {
      ConvTranspose2dAttributes a{{stride, stride}, {1, 1}, {more, more}};
      Shape x{2, 5, 7, 8}, w{8, 4, 3, 3};
      Shape y = shape_of(ConvTranspose2dOp(a), x, w);
      EXPECT_EQ(y, (Shape{2, 4 * stride + 1 + more, 6 * stride + 1 + more, 4}));
      EXPECT_EQ(shape_of(Conv2dOp(a.convolution()), y, w), x);
    }
  }
}

TEST(ConvTranspose2dShapes, CountsAMultiplicationForEachInputAndTap) {
  std::vector<TensorSpec> in{{{2, 4, 4, 8}, DType::f32}, {{8, 3, 2, 2}, DType::f32}};
  ConvTranspose2dOp op({.stride = {2, 2}});
  EXPECT_EQ(op.multiply_adds(in, op.infer(in)), 2 * 16 * 8 * 3 * 4);
}

TEST(ConvTranspose2dShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(ConvTranspose2dOp(), {f32({1, 3, 3, 2}), f32({3, 4, 3, 3})}),
            "[conv_transpose2d] weights (3, 4, 3, 3) take 3 channels, the input (1, 3, 3, 2) has "
            "2");
  EXPECT_EQ(refusal(ConvTranspose2dOp({.stride = {2, 2}, .output_padding = {2, 0}}),
                    {f32({1, 3, 3, 2}), f32({2, 4, 3, 3})}),
            "[conv_transpose2d] output padding 2x0 must be less than stride 2");
  EXPECT_EQ(refusal(ConvTranspose2dOp({.padding = {3, 3}}), {f32({1, 3, 3, 2}), f32({2, 4, 3, 3})}),
            "[conv_transpose2d] padding 3 leaves nothing of the output");
  EXPECT_EQ(refusal(ConvTranspose2dOp({.groups = 3}), {f32({1, 3, 3, 2}), f32({2, 4, 3, 3})}),
            "[conv_transpose2d] 3 groups do not divide 2 input channels");
  EXPECT_EQ(refusal(ConvTranspose2dOp(), {f32({3, 3, 2}), f32({2, 4, 3, 3})}),
            "[conv_transpose2d] takes an input (N, H, W, C), got (3, 3, 2)");
}

}  // namespace
}  // namespace spire::testing

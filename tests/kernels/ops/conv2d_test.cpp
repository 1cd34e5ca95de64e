#include "kernels/ops/conv2d/conv2d.h"

#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <tests/kernels/cuda/cudnn_rules.h>
#include <tests/kernels/op_test.h>
#include <tests/kernels/packing_units.h>

#include "kernels/cpu/tiled_convolution.h"

namespace spire::testing {
namespace {

// The definition, in float64: zeros around x, groups of channels, relu behind.
HostTensor convolve(const Conv2dAttributes& a, Tensors in, const Shape& out) {
  const HostTensor &x = in[0], &w = in[1];
  int64_t height = x.shape[1], width = x.shape[2], channels = x.shape[3];
  int64_t per_group = channels / a.groups, outputs_per_group = out[3] / a.groups;
  HostTensor y = zeros(out);
  for (int64_t e = 0; e < y.size(); ++e) {
    int64_t o = e % out[3], j = e / out[3] % out[2], i = e / out[3] / out[2] % out[1];
    int64_t n = e / out[3] / out[2] / out[1], group = o / outputs_per_group;
    double sum = a.bias ? in[2][o] : 0;
    for (int64_t k = 0; k < per_group * w.shape[2] * w.shape[3]; ++k) {
      int64_t s = k % w.shape[3], r = k / w.shape[3] % w.shape[2], c = k / w.shape[3] / w.shape[2];
      int64_t row = i * a.stride.h - a.padding.h + r * a.dilation.h;
      int64_t column = j * a.stride.w - a.padding.w + s * a.dilation.w;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      sum += x[((n * height + row) * width + column) * channels + group * per_group + c] *
             w[o * per_group * w.shape[2] * w.shape[3] + k];
    }
    y[e] = a.relu ? std::max(sum, 0.0) : sum;
  }
  return y;
}

OpCase conv_case(Shape x, Shape w, Conv2dAttributes attributes) {
  auto op = std::make_shared<Conv2dOp>(attributes);
  OpCase test;
  test.op = op;
  test.inputs = {activation(uniform(x, 1)), parameter(uniform(w, 2))};
  std::vector<TensorSpec> specs{{x, DType::f32}, {w, DType::f32}};
  if (attributes.bias) {
    test.inputs.push_back(parameter(uniform({w[0]}, 3)));
    specs.push_back({{w[0]}, DType::f32});
  }
  Shape out = op->infer(specs)[0].shape;
  test.reference = [=](Tensors in) { return convolve(attributes, in, out); };
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 12;
  Window window{{w[2], w[3]}, attributes.stride, attributes.padding, attributes.dilation};
  test.coarse =
      rounds_weight_gradient({.x = x, .y = out, .window = window, .groups = attributes.groups});
  if (attributes.relu) {
    for (Input& input : test.inputs) input.tensor = on_grid(input.tensor);
    test.kink_share = 0.2;
  }
  return test;
}

SPIRE_OP_TEST(Conv2dTest);

TEST_P(Conv2dTest, EveryStridePaddingAndDilation) {
  for (int64_t stride : {1, 2, 3}) {
    for (int64_t padding : {0, 1, 2}) {
      for (int64_t dilation : {1, 2}) {
        Conv2dAttributes a{{stride, stride}, {padding, padding}, {dilation, dilation}};
        SCOPED_TRACE(fmt::format("stride {} padding {} dilation {}", stride, padding, dilation));
        check_op(conv_case({2, 7, 9, 3}, {5, 3, 3, 3}, a), GetParam());
      }
    }
  }
}

TEST_P(Conv2dTest, EveryChannelCount) {
  for (int64_t channels : {1, 3, 16}) {
    for (int64_t outputs : {1, 10, 32}) {
      SCOPED_TRACE(fmt::format("{} -> {}", channels, outputs));
      check_op(conv_case({1, 6, 5, channels}, {outputs, channels, 3, 3},
                         {.padding = {1, 1}, .bias = true}),
               GetParam());
    }
  }
}

// Two groups, a group for each channel, and two outputs a group.
TEST_P(Conv2dTest, GroupsFromTwoToDepthwise) {
  check_op(conv_case({2, 5, 5, 6}, {4, 3, 3, 3}, {.padding = {1, 1}, .groups = 2, .bias = true}),
           GetParam());
  check_op(conv_case({1, 7, 5, 16}, {16, 1, 3, 3}, {.padding = {1, 1}, .groups = 16}), GetParam());
  check_op(conv_case({1, 7, 5, 3}, {6, 1, 3, 3}, {.stride = {2, 2}, .groups = 3}), GetParam());
}

// Kernels with unequal sides, and of one pixel, which are matrix products.
TEST_P(Conv2dTest, UnequalSidesAndPoints) {
  check_op(conv_case({2, 8, 5, 4}, {3, 4, 5, 1}, {.stride = {2, 1}, .padding = {2, 0}}),
           GetParam());
  check_op(conv_case({3, 4, 4, 8}, {16, 8, 1, 1}, {.bias = true}), GetParam());
  check_op(conv_case({2, 3, 5, 7}, {5, 7, 1, 1}, {.relu = true}), GetParam());
  check_op(conv_case({2, 5, 4, 4}, {6, 4, 1, 1}, {.stride = {2, 2}}), GetParam());
  check_op(conv_case({1, 3, 3, 2}, {4, 2, 3, 3}, {}), GetParam());
}

// Values on a grid, so that rounding moves no sum across the kink.
TEST_P(Conv2dTest, ReluBehind) {
  check_op(conv_case({2, 6, 6, 3}, {8, 3, 3, 3}, {.padding = {1, 1}, .bias = true, .relu = true}),
           GetParam());
}

// Wide enough for Winograd's algorithm on a CPU.
TEST_P(Conv2dTest, WideWindowsOf3x3) {
  check_op(conv_case({1, 4, 3, 32}, {32, 32, 3, 3}, {.padding = {1, 1}, .bias = true}), GetParam());
}

// Neighbours of the convolutions that Winograd's algorithm computes, and the ends of its rules.
TEST_P(Conv2dTest, WideWindowsInEveryForm) {
  const Conv2dAttributes forms[] = {{.padding = {2, 2}, .dilation = {2, 2}},
                                    {.stride = {2, 2}, .padding = {1, 1}},
                                    {.padding = {1, 1}, .groups = 2},
                                    {.padding = {0, 0}, .bias = true},
                                    {.padding = {2, 2}},
                                    {.padding = {1, 1}, .relu = true},
                                    {.padding = {1, 1}, .bias = true, .relu = true}};
  for (const Conv2dAttributes& form : forms) {
    SCOPED_TRACE(fmt::format("stride {} padding {} dilation {} groups {} bias {} relu {}",
                             form.stride.h, form.padding.h, form.dilation.h, form.groups, form.bias,
                             form.relu));
    OpCase test = conv_case({1, 6, 4, 32}, {32, 32 / form.groups, 3, 3}, form);
    test.gradient_samples = 4;
    check_op(test, GetParam());
  }
}

TEST_P(Conv2dTest, ChannelsBesideWinogradsRules) {
  for (auto [channels, outputs] : {std::pair{40, 32}, {32, 40}, {272, 32}, {32, 272}}) {
    SCOPED_TRACE(fmt::format("{} -> {}", channels, outputs));
    OpCase test = conv_case({1, 4, 3, channels}, {outputs, channels, 3, 3},
                            {.padding = {1, 1}, .bias = true});
    test.value_factor = 6;  // without AVX-512 oneDNN adds 2 448 products one after another
    test.gradient_samples = 3;
    check_op(test, GetParam());
  }
}

// relu(conv(x)) of the fused op is the relu of the plain op's result, bit for bit.
TEST_P(Conv2dTest, WithReluIsTheReluOfTheSameSum) {
  OpCase plain = conv_case({2, 9, 9, 16}, {16, 16, 3, 3}, {.padding = {1, 1}, .bias = true});
  auto fused = plain.op->with_relu();
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->with_relu(), nullptr);
  auto want = run_op(*plain.op, plain.inputs, GetParam());
  for (double& value : want[0].data) value = std::max(value, 0.0);
  // In 16 bits cuDNN's engines differ in their last bits, and each op takes the fastest.
  if (GetParam().device.kind == DeviceKind::cuda && GetParam().dtype != DType::f32) return;
  EXPECT_EQ(run_op(*fused, plain.inputs, GetParam())[0].data, want[0].data);
}

std::vector<Packing> packings_of(const Op& op, std::vector<TensorSpec> inputs, int threads = 1) {
  auto outputs = op.infer(inputs);
  KernelRequest request{.inputs = inputs, .outputs = outputs, .device = {}, .threads = threads};
  return make_kernel(op, request).packings();
}

std::vector<char> packed(const Packing& packing, const std::vector<float>& plain) {
  std::vector<char> bytes(packing.bytes, 0x5a);
  packing.pack(plain.data(), bytes.data());
  return bytes;
}

TEST(Conv2dShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(Conv2dOp(), {f32({1, 3, 3, 2}), f32({4, 2, 5, 5})}),
            "[conv2d] kernel 5x5 with dilation 1 does not fit input 3x3 with padding 0");
  EXPECT_EQ(refusal(Conv2dOp({.dilation = {1, 3}}), {f32({1, 3, 3, 2}), f32({4, 2, 3, 3})}),
            "[conv2d] kernel 3x3 with dilation 1x3 does not fit input 3x3 with padding 0");
  EXPECT_EQ(refusal(Conv2dOp(), {f32({1, 3, 3, 2}), f32({4, 3, 3, 3})}),
            "[conv2d] weights (4, 3, 3, 3) with 1 groups take 3 channels, the input (1, 3, 3, 2) "
            "has 2");
  EXPECT_EQ(refusal(Conv2dOp({.groups = 3}), {f32({1, 3, 3, 6}), f32({4, 2, 3, 3})}),
            "[conv2d] 3 groups do not divide 6 input and 4 output channels");
  EXPECT_EQ(refusal(Conv2dOp({.stride = {0, 1}}), {f32({1, 3, 3, 2}), f32({4, 2, 3, 3})}),
            "[conv2d] stride must be at least 1, got 0x1");
  EXPECT_EQ(refusal(Conv2dOp({.padding = {-1, -1}}), {f32({1, 3, 3, 2}), f32({4, 2, 3, 3})}),
            "[conv2d] padding must not be negative, got -1");
}

TEST(Conv2dShapes, SaysWhichInputIsWrong) {
  EXPECT_EQ(refusal(Conv2dOp(), {f32({3, 3, 2}), f32({4, 2, 3, 3})}),
            "[conv2d] takes an input (N, H, W, C), got (3, 3, 2)");
  EXPECT_EQ(refusal(Conv2dOp(), {f32({1, 3, 3, 2}), f32({4, 2, 3})}),
            "[conv2d] takes weights (O, C/groups, KH, KW), got (4, 2, 3)");
  EXPECT_EQ(refusal(Conv2dOp({.bias = true}), {f32({1, 3, 3, 2}), f32({4, 2, 3, 3})}),
            "[conv2d] takes 3 inputs, got 2");
  EXPECT_EQ(refusal(Conv2dOp({.bias = true}), {f32({1, 3, 3, 2}), f32({4, 2, 3, 3}), f32({5})}),
            "[conv2d] bias must be fp32 (4), got fp32 (5)");
  EXPECT_EQ(refusal(Conv2dOp(), {{{1, 3, 3, 2}, DType::u8}, f32({4, 2, 3, 3})}),
            "[conv2d] cannot compute on uint8");
  EXPECT_EQ(
      refusal(Conv2dBackwardDataOp({}, f32({1, 4, 4, 2})), {f32({1, 4, 4, 3}), f32({3, 2, 3, 3})}),
      "[conv2d_backward_data] takes the gradient of fp32 (1, 2, 2, 3), got fp32 (1, 4, 4, 3)");
}

// Forms of equal names have equal bytes: by that contract kernels share a packed parameter.
TEST(Conv2dPacking, EqualFormsAreEqualBytes) {
  for (DType dtype : {DType::f32, DType::bf16}) {
    TensorSpec x{{2, 8, 8, 16}, dtype}, w{{32, 16, 3, 3}, DType::f32};
    Conv2dAttributes a{.padding = {1, 1}};
    TensorSpec y = Conv2dOp(a).infer(std::vector{x, w})[0];
    std::vector<float> plain(32 * 16 * 9);
    for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i) * 0.25f;
    std::vector<Packing> all = packings_of(Conv2dOp(a), {x, w});
    for (const Packing& p : packings_of(Conv2dBackwardDataOp(a, x), {y, w})) all.push_back(p);
    a.relu = true;
    for (const Packing& p : packings_of(Conv2dOp(a), {x, w})) all.push_back(p);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].form, all[2].form);  // a relu behind changes nothing of the weights
    for (const Packing& p : all) {
      EXPECT_EQ(p.input, 1);
      EXPECT_THAT(p.form, ::testing::StartsWith(to_string(dtype)));
      for (const Packing& q : all) {
        if (p.form != q.form) continue;
        EXPECT_EQ(packed(p, plain), packed(q, plain));
      }
    }
  }
}

// The algorithm that a CPU uses is seen in the form in which it packs weights.
TEST(Conv2dPacking, WinogradsAlgorithmIsGivenWhatItComputes) {
  auto by_winograd = [](int64_t channels, int64_t outputs, const Conv2dAttributes& a, DType dtype) {
    TensorSpec x{{1, 8, 8, channels}, dtype}, w = f32({outputs, channels / a.groups, 3, 3});
    TensorSpec y = Conv2dOp(a).infer(std::vector{x, w})[0];
    bool forward = packings_of(Conv2dOp(a), {x, w})[0].form.starts_with("winograd");
    auto backward = packings_of(Conv2dBackwardDataOp(a, x), {y, w});
    EXPECT_EQ(!backward.empty() && backward[0].form.starts_with("winograd"), forward);
    return forward;
  };
  for (DType dtype : {DType::f32, DType::bf16}) {
    bool here = product::fp32_is_fastest(dtype);
    EXPECT_EQ(by_winograd(32, 256, {.padding = {1, 1}}, dtype), here);
    EXPECT_EQ(by_winograd(64, 32, {.padding = {2, 2}}, dtype), here);
    EXPECT_EQ(by_winograd(64, 64, {}, dtype), here);
    EXPECT_FALSE(by_winograd(32, 32, {.padding = {3, 3}}, dtype));
    EXPECT_FALSE(by_winograd(32, 32, {.padding = {2, 2}, .dilation = {2, 2}}, dtype));
    EXPECT_FALSE(by_winograd(32, 32, {.stride = {2, 2}, .padding = {1, 1}}, dtype));
    EXPECT_FALSE(by_winograd(64, 64, {.padding = {1, 1}, .groups = 2}, dtype));
    EXPECT_FALSE(by_winograd(40, 32, {.padding = {1, 1}}, dtype));
    EXPECT_FALSE(by_winograd(32, 272, {.padding = {1, 1}}, dtype));
  }
}

// A unit with unit_floats reads these alone: packed anew after all other weights have changed, it
// is what it was. 80 outputs are two units of Winograd's.
TEST(Conv2dPacking, AUnitReadsItsOwnWeights) {
  TensorSpec x = f32({1, 8, 8, 32}), w = f32({80, 32, 3, 3});
  Conv2dAttributes a{.padding = {1, 1}};
  int64_t checked = 0;
  for (const Packing& packing : packings_of(Conv2dOp(a), {x, w}))
    checked += expect_units_read_their_own(packing, w.shape.elements());
  EXPECT_EQ(checked, product::fp32_is_fastest(DType::f32) ? 2 : 0);
}

// The definition, in float64: each input pixel adds its weighted kernel to the output.
HostTensor stamp(const ConvTranspose2dAttributes& a, Tensors in, const Shape& out) {
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
  test.reference = [=](Tensors in) { return stamp(attributes, in, out); };
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 12;
  Conv2dAttributes same = attributes.convolution();
  Window window{{w[2], w[3]}, same.stride, same.padding, same.dilation};
  test.coarse = rounds_weight_gradient({.x = out, .y = x, .window = window, .groups = same.groups});
  return test;
}

SPIRE_OP_TEST(ConvTranspose2dTest);

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

#include "kernels/ops/dense/dense.h"

#include <fmt/format.h>
#include <tests/base/message_of.h>
#include <tests/kernels/matrix_views.h>
#include <tests/kernels/packing_units.h>

#include "kernels/cpu/onednn_version.h"

namespace spire::testing {
namespace {

// y = x w^T + b, relu behind.
HostTensor multiply(const DenseAttributes& a, Tensors in, const Shape& out) {
  HostTensor result = zeros(out);
  auto y = matrix_of(result);
  y = matrix_of(in[0]) * matrix_of(in[1]).transpose();
  if (a.bias) y.rowwise() += matrix_of(in[2]).row(0);
  if (a.relu) y = y.cwiseMax(0.0);
  return result;
}

OpCase dense_case(Shape x, int64_t outputs, DenseAttributes attributes) {
  OpCase test;
  test.op = std::make_shared<DenseOp>(attributes);
  test.inputs = {activation(uniform(x, 1)), parameter(uniform({outputs, x.back()}, 2))};
  if (attributes.bias) test.inputs.push_back(parameter(uniform({outputs}, 3)));
  Shape out = x;
  out[x.rank() - 1] = outputs;
  test.reference = [=](Tensors in) { return multiply(attributes, in, out); };
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 20;
  if (attributes.relu) {
    for (Input& input : test.inputs) input.tensor = on_grid(input.tensor);
    test.kink_share = 0.2;
  }
  return test;
}

SPIRE_OP_TEST(DenseTest);

// One, fewer than a register, and more than one of rows, features and outputs.
TEST_P(DenseTest, EverySize) {
  for (int64_t rows : {1, 5, 64}) {
    for (int64_t features : {1, 7, 48}) {
      for (int64_t outputs : {1, 10, 33}) {
        SCOPED_TRACE(fmt::format("{} x {} -> {}", rows, features, outputs));
        check_op(dense_case({rows, features}, outputs, {.bias = true}), GetParam());
      }
    }
  }
}

TEST_P(DenseTest, WithoutBiasAndWithLeadingAxes) {
  check_op(dense_case({9, 20}, 12, {}), GetParam());
  check_op(dense_case({2, 3, 20}, 12, {.bias = true}), GetParam());
}

TEST_P(DenseTest, ReluBehind) {
  check_op(dense_case({8, 30}, 10, {.bias = true, .relu = true}), GetParam());
}

// y and dy have padded rows where the device's kernels take them; w and b never have.
TEST_P(DenseTest, PaddedRows) {
  Environment environment = GetParam();
  environment.padded_rows = true;
  for (int64_t outputs : {1, 12, 33}) {
    SCOPED_TRACE(outputs);
    check_op(dense_case({5, 48}, outputs, {}), environment);
    check_op(dense_case({70, 7}, outputs, {.bias = true}), environment);
    check_values(dense_case({2, 3, 20}, outputs, {.bias = true, .relu = true}), environment);
  }
}

// relu(dense(x)) of the fused op is the relu of the plain op's result, bit for bit.
TEST_P(DenseTest, WithReluIsTheReluOfTheSameSum) {
  OpCase plain = dense_case({16, 64}, 40, {.bias = true});
  auto fused = plain.op->with_relu();
  ASSERT_NE(fused, nullptr);
  EXPECT_EQ(fused->with_relu(), nullptr);
  auto want = run_op(*plain.op, plain.inputs, GetParam());
  for (double& value : want[0].data) value = std::max(value, 0.0);
  EXPECT_EQ(run_op(*fused, plain.inputs, GetParam())[0].data, want[0].data);
}

TEST(DenseShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(DenseOp(), {f32({4, 5}), f32({3, 6})}),
            "[dense] weights (3, 6) take 6 features, the input (4, 5) has 5");
  EXPECT_EQ(refusal(DenseOp(), {f32({5}), f32({3, 5})}), "[dense] takes an input (.., K), got (5)");
  EXPECT_EQ(refusal(DenseOp(), {f32({4, 5}), {{3, 5}, DType::bf16}}),
            "[dense] takes weights fp32 (N, K), got bf16 (3, 5)");
  EXPECT_EQ(refusal(DenseOp({.bias = true}), {f32({4, 5}), f32({3, 5}), f32({5})}),
            "[dense] bias must be fp32 (3), got fp32 (5)");
  EXPECT_EQ(refusal(DenseBackwardDataOp(), {f32({4, 5}), f32({3, 5})}),
            "[dense_backward_data] weights (3, 5) make 3 features, the gradient is (4, 5)");
  EXPECT_EQ(refusal(DenseBackwardWeightsOp(false), {f32({4, 5}), f32({3, 6})}),
            "[dense_backward_weights] takes an input and a gradient of equal rows, got fp32 (4, 5) "
            "and fp32 (3, 6)");
}

TEST(DenseShapes, RefusesPaddedRowsThatTheKernelDoesNotTake) {
  std::vector<TensorSpec> in{{{4, 5}, DType::bf16}, f32({3, 5})}, out{{{4, 3}, DType::bf16, 8}};
  EXPECT_EQ(out[0].bytes(), 4u * 8 * 2);
  auto refused = [&] {
    return message_of(Category::unexpected, [&] {
      make_kernel(DenseOp(), {.inputs = in, .outputs = out, .device = {}});
    });
  };
  EXPECT_EQ(refused(), "[dense] does not make padded rows of output 0");
  out[0].row_pitch = 0;
  in[0].row_pitch = 8;
  EXPECT_EQ(refused(), "[dense] does not take padded rows of input 0");
}

// Forward and backward share one packed copy of the weights if oneDNN chooses one layout for both.
TEST(DensePacking, ForwardAndBackwardFormsAgreeOnBytes) {
  std::vector<float> plain(64 * 48);
  for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i) - 100.5f;
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<TensorSpec> forward_in{{{32, 48}, dtype}, f32({64, 48})};
    std::vector<TensorSpec> backward_in{{{32, 64}, dtype}, f32({64, 48})};
    DenseOp forward;
    DenseBackwardDataOp backward;
    auto y = forward.infer(forward_in), dx = backward.infer(backward_in);
    auto a = make_kernel(forward, {.inputs = forward_in, .outputs = y, .device = {}}).packings();
    auto b = make_kernel(backward, {.inputs = backward_in, .outputs = dx, .device = {}}).packings();
    if (a.empty() || b.empty() || a[0].form != b[0].form) continue;
    std::vector<char> first(a[0].bytes), second(b[0].bytes);
    a[0].pack(plain.data(), first.data());
    b[0].pack(plain.data(), second.data());
    EXPECT_EQ(first, second);
  }
}

// A unit with unit_floats reads these alone: packed anew after all other weights have changed, it
// is what it was.
TEST(DensePacking, AUnitReadsItsOwnWeights) {
  int64_t checked = 0;
  for (DType dtype : {DType::f32, DType::bf16}) {
    std::vector<TensorSpec> inputs{{{32, 48}, dtype}, f32({128, 48})};
    DenseOp op;
    auto outputs = op.infer(inputs);
    Kernel kernel = make_kernel(op, {.inputs = inputs, .outputs = outputs, .device = {}});
    for (const Packing& packing : kernel.packings())
      checked += expect_units_read_their_own(packing, 128 * 48);
  }
  EXPECT_GE(checked, onednn_has_bf16() ? 2 : 0);  // AVX-512: whole tiles, packed in units
}

}  // namespace
}  // namespace spire::testing

#include "kernels/ops/expand/expand.h"

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// y[n] = x for every sample n.
OpCase expand_case(Input x, int64_t count, DType dtype) {
  OpCase test(ExpandOp(ExpandAttributes{.count = count, .dtype = dtype}), {std::move(x)},
              [count](Tensors in) {
                std::vector<int64_t> dims = {count};
                dims.insert(dims.end(), in[0].shape.dims().begin(), in[0].shape.dims().end());
                HostTensor y = zeros(Shape(dims));
                for (int64_t i = 0; i < y.size(); ++i) y[i] = in[0][i % in[0].size()];
                return y;
              });
  return test;
}

SPIRE_OP_TEST(ExpandTest);

TEST_P(ExpandTest, ParametersAndActivations) {
  DType dtype = GetParam().dtype;
  for (Shape shape : {Shape{1, 7}, Shape{3, 2, 20}, Shape{600}}) {
    check_op(expand_case(parameter(uniform(shape, 361)), 5, dtype), GetParam());
    check_op(expand_case(activation(uniform(shape, 362)), 5, dtype), GetParam());
  }
}

// The gradient is a sum over more samples than a block of a GPU has threads.
TEST_P(ExpandTest, ManySamples) {
  DType dtype = GetParam().dtype;
  for (Shape shape : {Shape{3}, Shape{36}}) {
    OpCase test = expand_case(parameter(uniform(shape, 363)), 1100, dtype);
    test.gradient_factor = 32;  // fp32 sums over the samples
    check_op(test, GetParam());
  }
}

// The gradient of a parameter keeps terms that a bf16 sum would lose; the order of samples is
// fixed.
TEST_P(ExpandTest, GradientOfAParameterIsSummedInFp32) {
  HostTensor dy = zeros({257, 2});
  for (int64_t n = 0; n < 257; ++n) dy[2 * n] = dy[2 * n + 1] = n == 0 ? 256 : 1;
  auto dx = run_op(ExpandBackwardOp(DType::f32), std::vector{activation(dy)}, GetParam())[0];
  EXPECT_EQ(dx.data, (std::vector<double>{512, 512}));
}

TEST(ExpandOp, RefusesInputsThatDoNotFit) {
  std::vector<TensorSpec> x = {{{2, 3}, DType::f32}}, whole = {{{2, 3}, DType::i32}};
  EXPECT_EQ(ExpandOp({4, DType::bf16}).infer(x)[0], (TensorSpec{{4, 2, 3}, DType::bf16}));
  EXPECT_THROW(ExpandOp({0, DType::f32}).infer(x), Error);
  EXPECT_THROW(ExpandOp({4, DType::i32}).infer(x), Error);
  EXPECT_THROW(ExpandOp({4, DType::f32}).infer(whole), Error);
  std::vector<TensorSpec> full = {{{1, 1, 1, 1, 1, 1}, DType::f32}};
  EXPECT_THROW(ExpandOp({4, DType::f32}).infer(full), Error);
}

}  // namespace
}  // namespace spire::testing

#include "kernels/ops/dropout/dropout.h"

#include <cmath>

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

StepContext step_context(int64_t first_row) {
  StepContext step;
  step.seed = 7;
  step.step = 123456;
  step.first_row = first_row;
  return step;
}

// The mask by the formula of the header, one number at a time.
HostTensor dropped(const HostTensor& x, float rate, const StepContext& step, uint64_t key) {
  HostTensor y = x;
  int64_t row_size = x.size() / x.shape[0];
  for (int64_t i = 0; i < x.size(); ++i) {
    uint64_t row = static_cast<uint64_t>(step.first_row + i / row_size);
    RandomStream stream(step.seed, Purpose::dropout, static_cast<uint64_t>(step.step) << 16 | key,
                        row);
    double u =
        std::ldexp(static_cast<double>(stream.bits(static_cast<uint64_t>(i % row_size))), -32);
    y[i] = u < static_cast<double>(rate) ? 0 : x[i] / (1 - static_cast<double>(rate));
  }
  return y;
}

OpCase dropout_case(Shape shape, float rate, int op_id) {
  OpCase test;
  test.op = std::make_shared<DropoutOp>(DropoutAttributes{rate});
  test.inputs = {activation(uniform(shape, 71))};
  test.step = step_context(1000);
  test.reference = [rate, op_id, step = test.step](Tensors in) {
    return std::vector<HostTensor>{dropped(in[0], rate, step, static_cast<uint64_t>(op_id)),
                                   {{1}, {static_cast<double>(op_id)}}};
  };
  return test;
}

SPIRE_OP_TEST(DropoutTest);

TEST_P(DropoutTest, ValuesAndGradients) {
  Environment environment = GetParam();
  environment.op_id = 17;
  for (Shape shape :
       {Shape{3, 2, 5, 7}, Shape{2, 1}, Shape{5, 259}, Shape{3, 4, 10}, Shape{2, 8, 24}}) {
    check_op(dropout_case(shape, 0.3f, environment.op_id), environment);
  }
  check_op(dropout_case({4, 9}, 0.0f, environment.op_id), environment);
}

// Longer rows than a block of a GPU takes, with packs and without.
TEST_P(DropoutTest, LongRows) {
  for (int64_t size : {8192 + 264, 8192 + 3}) {
    check_values(dropout_case({2, size}, 0.3f, GetParam().op_id), GetParam());
  }
}

// Rows of a batch keep their random numbers when the batch is split over towers.
TEST_P(DropoutTest, RandomNumbersDependOnTheGlobalRow) {
  DropoutOp op({0.5f});
  HostTensor x = uniform({6, 33}, 72, 1, 2);
  HostTensor tail{{2, 33}, {x.data.begin() + 4 * 33, x.data.end()}};
  auto whole = run_op(op, std::vector{activation(x)}, GetParam(), step_context(0))[0];
  auto part = run_op(op, std::vector{activation(tail)}, GetParam(), step_context(4))[0];
  EXPECT_EQ(part.data, std::vector<double>(whole.data.begin() + 4 * 33, whole.data.end()));
}

// Binomial: the kept share is within five deviations of 1 - rate.
TEST_P(DropoutTest, KeepsTheRightShare) {
  HostTensor ones = zeros({64, 1000});
  for (double& one : ones.data) one = 1;
  auto y = run_op(DropoutOp({0.2f}), std::vector{activation(ones)}, GetParam(), step_context(0))[0];
  double kept = 0;
  for (double value : y.data) kept += value != 0;
  EXPECT_NEAR(kept, 0.8 * 64000, 5 * std::sqrt(0.2 * 0.8 * 64000));
}

// Evaluation makes a view of x: no kernel runs.
TEST_P(DropoutTest, IsTheIdentityOutsideTraining) {
  OpCase test = dropout_case({3, 4}, 0.5f, 0);
  test.op = std::make_shared<DropoutOp>(DropoutAttributes{0.5f, false});
  test.reference = [](Tensors in) { return in[0]; };
  check_op(test, GetParam());
}

TEST(DropoutOp, RefusesIdsThatWouldDrawAsAnotherStep) {
  DropoutOp op;
  EXPECT_EQ(dropout_key(op, 65535), 65535);
  std::vector<TensorSpec> in = {f32({2, 3})}, out = op.infer(in);
  EXPECT_THROW(make_kernel(op, {.inputs = in, .outputs = out, .device = {}, .op_id = 65536}),
               Error);
}

TEST(DropoutOp, RefusesRatesOutsideItsRange) {
  std::vector<TensorSpec> x = {{{2, 3}, DType::f32}};
  EXPECT_THROW(DropoutOp({1.0f}).infer(x), Error);
  EXPECT_THROW(DropoutOp({-0.1f}).infer(x), Error);
}

}  // namespace
}  // namespace spire::testing

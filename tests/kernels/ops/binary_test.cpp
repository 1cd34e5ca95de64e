#include <tests/kernels/op_test.h>

#include "kernels/ops/elementwise/elementwise.h"

namespace spire::testing {
namespace {

// y = f(a, b), rounded once; the gradient as well, unless said otherwise.
template <typename SomeOp>
OpCase binary_case(const SomeOp& op, double (*f)(double, double), Shape shape) {
  OpCase test;
  test.op = std::make_shared<SomeOp>(op);
  test.inputs = {activation(uniform(shape, 81)), activation(uniform(shape, 82))};
  test.reference = [f](std::span<const HostTensor> in) {
    HostTensor y = in[0];
    for (int64_t i = 0; i < y.size(); ++i) y[i] = f(in[0][i], in[1][i]);
    return std::vector<HostTensor>{y};
  };
  test.value_factor = test.gradient_factor = 1;
  test.gradient_samples = 40;
  return test;
}

class BinaryTest : public OpTest {
 protected:
  // The second shape is shared by two threads and fills no last register.
  template <typename SomeOp>
  void check(const SomeOp& op, double (*f)(double, double)) {
    for (Shape shape : {Shape{3, 5, 7}, Shape{3, 4099}})
      check_op(binary_case(op, f, shape), GetParam());
  }
};

class AddTest : public BinaryTest {};

TEST_P(AddTest, ValuesAndGradients) {
  check(AddOp(), [](double a, double b) { return a + b; });
}

TEST_P(AddTest, ValuesAndGradientsThroughRelu) {
  OpCase test =
      binary_case(AddOp(true), [](double a, double b) { return std::max(a + b, 0.0); }, {3, 5, 7});
  check_op(test, GetParam());
}

TEST_P(BinaryTest, Multiply) {
  check(MulOp(), [](double a, double b) { return a * b; });
}

TEST_P(BinaryTest, Subtract) {
  check(SubOp(), [](double a, double b) { return a - b; });
}

TEST_P(BinaryTest, Divide) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) {
    OpCase test = binary_case(
        DivOp(), [](double a, double b) { return a / b; }, shape);
    test.inputs[1] = activation(uniform(shape, 83, 0.5, 2));
    test.gradient_factor = 4;  // the gradient by b rounds the quotients first
    check_op(test, GetParam());
  }
}

SPIRE_TEST_EVERYWHERE(AddTest);
SPIRE_TEST_EVERYWHERE(BinaryTest);

// The graph fuses a relu into the sum before it.
TEST(AddOp, TakesOneReluAndNoMore) {
  AddOp add;
  auto fused = add.with_relu();
  ASSERT_TRUE(fused);
  EXPECT_TRUE(static_cast<const AddOp&>(*fused).relu());
  EXPECT_EQ(fused->with_relu(), nullptr);
}

TEST(AddOp, RefusesOperandsThatDiffer) {
  std::vector<TensorSpec> shapes = {{{2, 3}, DType::f32}, {{3, 2}, DType::f32}};
  EXPECT_THROW(AddOp().infer(shapes), Error);
  std::vector<TensorSpec> dtypes = {{{2, 3}, DType::f32}, {{2, 3}, DType::bf16}};
  EXPECT_THROW(AddOp().infer(dtypes), Error);
}

TEST(MulOp, RefusesOperandsThatDiffer) {
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>{{{2, 3}, DType::f32}, {{3}, DType::f32}}),
               Error);
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>(2, {{3}, DType::i32})), Error);
}

TEST(BinaryOps, NameWhatTheyCannotDo) {
  EXPECT_EQ(refusal(SubOp(), {f32({2, 3}), f32({3})}),
            "[sub] cannot subtract fp32 (2, 3) and fp32 (3)");
  EXPECT_EQ(refusal(DivOp(), {f32({2, 3}), f32({3})}),
            "[div] cannot divide fp32 (2, 3) and fp32 (3)");
}

}  // namespace
}  // namespace spire::testing

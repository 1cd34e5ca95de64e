#include "kernels/ops/binary/binary.h"

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// y = a + b, with a relu behind where asked for.
OpCase add_case(bool relu, Shape shape) {
  OpCase test;
  test.op = std::make_shared<AddOp>(relu);
  test.inputs = {activation(uniform(shape, 21)), activation(uniform(shape, 22))};
  test.reference = [relu](std::span<const HostTensor> in) {
    HostTensor y = in[0];
    for (int64_t i = 0; i < y.size(); ++i) {
      y[i] += in[1][i];
      if (relu) y[i] = std::max(y[i], 0.0);
    }
    return std::vector<HostTensor>{y};
  };
  test.value_factor = test.gradient_factor = 1;  // one rounding, of the sum
  return test;
}

// y = a b
OpCase mul_case(Shape shape) {
  OpCase test;
  test.op = std::make_shared<MulOp>();
  test.inputs = {activation(uniform(shape, 81)), activation(uniform(shape, 82))};
  test.reference = [](std::span<const HostTensor> in) {
    HostTensor y = in[0];
    for (int64_t i = 0; i < y.size(); ++i) y[i] *= in[1][i];
    return std::vector<HostTensor>{y};
  };
  test.value_factor = test.gradient_factor = 1;  // one rounding
  test.gradient_samples = 40;
  return test;
}

// y = a - b
OpCase sub_case(Shape shape) {
  OpCase test = mul_case(shape);
  test.op = std::make_shared<SubOp>();
  test.reference = [](std::span<const HostTensor> in) {
    HostTensor y = in[0];
    for (int64_t i = 0; i < y.size(); ++i) y[i] -= in[1][i];
    return std::vector<HostTensor>{y};
  };
  return test;
}

// y = a / b, whose gradient by b rounds the quotients first.
OpCase div_case(Shape shape) {
  OpCase test = mul_case(shape);
  test.op = std::make_shared<DivOp>();
  test.inputs[1] = activation(uniform(shape, 83, 0.5, 2));
  test.reference = [](std::span<const HostTensor> in) {
    HostTensor y = in[0];
    for (int64_t i = 0; i < y.size(); ++i) y[i] /= in[1][i];
    return std::vector<HostTensor>{y};
  };
  test.gradient_factor = 4;
  return test;
}

class AddTest : public OpTest {};
class SubTest : public OpTest {};
class DivTest : public OpTest {};
class MulTest : public OpTest {};

// The second shape is shared by two threads and fills no last register.
TEST_P(AddTest, ValuesAndGradients) {
  check_op(add_case(false, {3, 5, 7}), GetParam());
  check_values(add_case(false, {3, 4099}), GetParam());
}

TEST_P(AddTest, ValuesAndGradientsThroughRelu) {
  check_op(add_case(true, {3, 5, 7}), GetParam());
}

TEST_P(MulTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) check_op(mul_case(shape), GetParam());
}

TEST_P(SubTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) check_op(sub_case(shape), GetParam());
}

TEST_P(DivTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) check_op(div_case(shape), GetParam());
}

SPIRE_TEST_EVERYWHERE(SubTest);
SPIRE_TEST_EVERYWHERE(DivTest);
SPIRE_TEST_EVERYWHERE(AddTest);
SPIRE_TEST_EVERYWHERE(MulTest);

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

#include <tests/kernels/op_test.h>

#include "kernels/ops/binary/binary.h"

namespace spire::testing {

namespace {

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

class MulTest : public OpTest {};

}  // namespace

TEST_P(MulTest, ValuesAndGradients) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4097}}) check_op(mul_case(shape), GetParam());
}

SPIRE_TEST_EVERYWHERE(MulTest);

TEST(MulOp, RefusesOperandsThatDiffer) {
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>{{{2, 3}, DType::f32}, {{3}, DType::f32}}),
               Error);
  EXPECT_THROW(MulOp().infer(std::vector<TensorSpec>(2, {{3}, DType::i32})), Error);
}

}  // namespace spire::testing

#include <tests/kernels/op_test.h>

#include "kernels/ops/elementwise/elementwise.h"

namespace spire::testing {
namespace {

class CastTest : public OpTest {};

OpCase cast_case(Input x, DType to) {
  OpCase test;
  test.op = std::make_shared<CastOp>(to);
  test.inputs = {std::move(x)};
  test.reference = [](std::span<const HostTensor> in) { return std::vector<HostTensor>{in[0]}; };
  test.value_factor = test.gradient_factor = 1;  // one rounding
  return test;
}

// From the run's dtype to fp32 and from fp32 to the run's.
TEST_P(CastTest, RoundsOnceEachWay) {
  for (Shape shape : {Shape{3, 5, 7}, Shape{4099}}) {
    check_op(cast_case(activation(uniform(shape, 91)), DType::f32), GetParam());
    OpCase down = cast_case(statistic(uniform(shape, 92)), GetParam().dtype);
    check_values(down, GetParam());
  }
}

// The gradient by fp32 numbers keeps the bits of dy.
TEST_P(CastTest, GradientHasTheInputsType) {
  OpCase test = cast_case(parameter(uniform({40}, 93)), GetParam().dtype);
  test.gradient_factor = 0.01;  // of fp32's rounding: beside it the differences' own error
  check_gradient(test, GetParam());
}

SPIRE_TEST_EVERYWHERE(CastTest);

TEST(CastOp, ConvertsNumbersOnly) {
  EXPECT_EQ(refusal(CastOp(DType::f32), {{{4}, DType::i32}}),
            "[cast] converts between fp32, bf16 and fp16, not int32 (4) to fp32");
  EXPECT_EQ(refusal(CastOp(DType::f64), {f32({4})}),
            "[cast] converts between fp32, bf16 and fp16, not fp32 (4) to fp64");
}

}  // namespace
}  // namespace spire::testing

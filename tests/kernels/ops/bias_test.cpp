#include "kernels/ops/bias/bias.h"

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

OpCase bias_case(Shape shape) {
  OpCase test(BiasOp(), {activation(uniform(shape, 1)), parameter(uniform({shape.back()}, 2))},
              [](Tensors in) {
                HostTensor y = in[0];
                matrix_of(y).rowwise() += matrix_of(in[1]).row(0);
                return y;
              });
  test.magnitude = [=](Tensors in) { return test.reference(absolute(in)); };
  test.gradient_samples = 40;
  test.any_threads = true;
  return test;
}

SPIRE_OP_TEST(BiasTest);

// One channel, fewer than a register, a whole one and more.
TEST_P(BiasTest, EveryShape) {
  for (int64_t channels : {1, 10, 16, 33}) {
    check_op(bias_case({5, channels}), GetParam());
    check_op(bias_case({2, 3, 4, channels}), GetParam());
  }
  check_op(bias_case({300, 3}), GetParam());
}

// Rows wider than a block of a GPU, and enough rows for several chunks of sums.
TEST_P(BiasTest, WideRowsAndManyRows) {
  for (Shape shape : {Shape{70, 132}, Shape{3, 301}, Shape{2100, 64}, Shape{5000, 1}}) {
    OpCase test = bias_case(shape);
    test.gradient_samples = 8;
    test.gradient_factor = 16;  // fp32 sums of thousands of rows
    check_op(test, GetParam());
  }
}

TEST(BiasShapes, SaysWhatDoesNotFit) {
  EXPECT_EQ(refusal(BiasOp(), {f32({4, 3}), f32({4})}),
            "[bias] bias must be fp32 (3), got fp32 (4)");
  EXPECT_EQ(refusal(BiasOp(), {f32({4, 3}), {{3}, DType::bf16}}),
            "[bias] bias must be fp32 (3), got bf16 (3)");
  EXPECT_EQ(refusal(BiasOp(), {{{4, 3}, DType::i32}, f32({3})}),
            "[bias] takes an input (.., C) of fp32, bf16 or fp16, got int32 (4, 3)");
}

}  // namespace
}  // namespace spire::testing

#include "kernels/ops/softmax/softmax.h"

#include <limits>

#include <tests/kernels/matrix_views.h>

namespace spire::testing {
namespace {

OpCase softmax_case(Shape shape, bool logarithm) {
  OpCase test(SoftmaxOp(SoftmaxAttributes{.logarithm = logarithm}),
              {activation(uniform(shape, 131, -4, 4))}, [logarithm](Tensors in) {
                HostTensor y = in[0];
                for (int64_t row = 0; row < matrix_of(y).rows(); ++row) {
                  Eigen::ArrayXd x = matrix_of(in[0]).row(row).array();
                  double most = x.maxCoeff(), sum = (x - most).exp().sum();
                  if (logarithm) {
                    matrix_of(y).row(row) = x - most - std::log(sum);
                  } else {
                    matrix_of(y).row(row) = (x - most).exp() / sum;
                  }
                }
                return y;
              });
  test.value_factor = 8;
  test.gradient_factor = 16;
  test.floor = logarithm ? 1 : 1e-3;
  test.gradient_samples = 40;
  return test;
}

SPIRE_OP_TEST(SoftmaxTest);

TEST_P(SoftmaxTest, ValuesAndGradients) {
  for (bool logarithm : {false, true})
    for (Shape shape : {Shape{3, 5, 7}, Shape{4, 1}, Shape{9}, Shape{2, 70}})
      check_op(softmax_case(shape, logarithm), GetParam());
}

TEST_P(SoftmaxTest, LongRowsAndManyRows) {
  for (bool logarithm : {false, true}) {
    check_values(softmax_case({3, 4099}, logarithm), GetParam());
    check_values(softmax_case({2100, 3}, logarithm), GetParam());
  }
}

// Large numbers do not overflow, and a masked one, -infinity, has no share.
TEST_P(SoftmaxTest, SubtractsTheLargest) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<Input> x = {activation({{1, 3}, {1024, -infinity, 1024}})};
  EXPECT_EQ(run_op(SoftmaxOp(), x, GetParam())[0].data, (std::vector<double>{0.5, 0, 0.5}));
}

TEST(SoftmaxOp, RefusesWhatItCannotCompute) {
  EXPECT_EQ(refusal(SoftmaxOp(), {{{4}, DType::i32}}), "[softmax] cannot compute on int32 (4)");
  EXPECT_EQ(refusal(SoftmaxBackwardOp({.logarithm = true}), {f32({4}), f32({5})}),
            "[log_softmax_backward] gradient fp32 (4) does not fit fp32 (5)");
}

}  // namespace
}  // namespace spire::testing

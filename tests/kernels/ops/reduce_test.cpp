#include "kernels/ops/reduce/reduce.h"

#include <limits>

#include <tests/kernels/op_test.h>

#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::testing {
namespace {

HostTensor reduced(const HostTensor& x, const ReduceAttributes& attributes) {
  ReduceOp op(attributes);
  HostTensor y = zeros(op.infer(std::vector{f32(x.shape)})[0].shape);
  int64_t inner = 1, length = x.shape[attributes.axis];
  for (int axis = attributes.axis + 1; axis < x.shape.rank(); ++axis) inner *= x.shape[axis];
  for (int64_t i = 0; i < x.size(); ++i)
    y[i / (length * inner) * inner + i % inner] +=
        attributes.mean ? x[i] / static_cast<double>(length) : x[i];
  return y;
}

OpCase reduce_case(Shape shape, ReduceAttributes attributes) {
  OpCase test(ReduceOp(attributes), {activation(uniform(shape, 121))},
              [attributes](Tensors in) { return reduced(in[0], attributes); });
  // Sums are fp64, so an error is the rounding of y: even where terms cancel.
  test.value_factor = 1.01;
  test.floor = 1e-4;  // below it fp16 has fewer bits
  test.gradient_factor = 2;
  test.gradient_samples = 40;
  return test;
}

SPIRE_OP_TEST(ReduceTest);

TEST_P(ReduceTest, SumsAndMeansOverEachAxis) {
  for (bool mean : {false, true}) {
    for (int axis : {0, 1, 2}) {
      SCOPED_TRACE(axis);
      check_op(reduce_case({3, 5, 7}, {.axis = axis, .mean = mean}), GetParam());
    }
    check_op(reduce_case({2, 1}, {.axis = 1, .mean = mean}), GetParam());
  }
}

// More than one block of sums, shared by threads in the midst of an outer index.
TEST_P(ReduceTest, LongAxes) {
  for (int axis : {0, 1, 2})
    check_values(reduce_case({3, 130, 301}, {.axis = axis, .mean = true}), GetParam());
}

TEST(ReduceOp, RefusesAnAxisThatIsNotThere) {
  EXPECT_EQ(refusal(ReduceOp({.axis = 2}), {f32({4, 3})}),
            "[sum] fp32 (4, 3) has no axis 2; use -2 to 1");
  EXPECT_EQ(refusal(ReduceOp({.axis = -3, .mean = true}), {f32({4, 3})}),
            "[mean] fp32 (4, 3) has no axis -3; use -2 to 1");
  EXPECT_EQ(refusal(ReduceOp({.axis = 0}), {f32({4})}),
            "[sum] fp32 (4) has no axis beside the one that is summed");
  EXPECT_EQ(refusal(ReduceOp(), {{{4, 3}, DType::i32}}), "[sum] cannot compute on int32 (4, 3)");
}

SPIRE_OP_TEST(TowerSumTest);

// Sums are fp64, and one tower has nothing to add: the bits stay.
TEST_P(TowerSumTest, OfOneTowerIsItsTerms) {
  for (int64_t length : {1, 2, 129}) {
    HostTensor terms = uniform({length}, 5, -1e200, 1e200);
    terms[0] = std::numeric_limits<double>::infinity();
    std::vector<Input> inputs = {sums(terms)};
    EXPECT_EQ(run_op(TowerSumOp(), inputs, GetParam())[0].data, terms.data);
  }
}

// Only this op reads the terms of other towers.
TEST(TowerSumOp, IsWhereTowersMeet) {
  EXPECT_TRUE(TowerSumOp().sums_towers());
  EXPECT_FALSE(BatchNormMomentsOp().sums_towers());
  EXPECT_FALSE(BatchNormOp({.sync = true}).sums_towers());
  EXPECT_FALSE(TowerSumOp().may_overwrite(0));  // the other towers may still have to read it
}

TEST(TowerSumOp, TakesOneVectorOfDoubles) {
  TensorSpec vector{{33}, DType::f64};
  EXPECT_EQ(TowerSumOp().infer(std::vector{vector}), std::vector{vector});
  EXPECT_THROW(TowerSumOp().infer(std::vector{vector, vector}), Error);
  EXPECT_THROW(TowerSumOp().infer(std::vector{TensorSpec{{33}, DType::f32}}), Error);
  EXPECT_THROW(TowerSumOp().infer(std::vector{TensorSpec{{3, 11}, DType::f64}}), Error);
}

}  // namespace
}  // namespace spire::testing

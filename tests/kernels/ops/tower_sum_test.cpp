#include "kernels/ops/tower_sum/tower_sum.h"

#include <limits>

#include <tests/kernels/op_test.h>

#include "kernels/ops/batch_norm/batch_norm.h"

namespace spire::testing {
namespace {

class TowerSumTest : public OpTest {};

// Sums are fp64, and one tower has nothing to add: the bits stay.
TEST_P(TowerSumTest, OfOneTowerIsItsTerms) {
  for (int64_t length : {1, 2, 129}) {
    HostTensor terms = uniform({length}, 5, -1e200, 1e200);
    terms[0] = std::numeric_limits<double>::infinity();
    std::vector<Input> inputs = {sums(terms)};
    EXPECT_EQ(run_op(TowerSumOp(), inputs, GetParam())[0].data, terms.data);
  }
}

SPIRE_TEST_EVERYWHERE(TowerSumTest);

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

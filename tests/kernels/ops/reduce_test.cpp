#include "kernels/ops/reduce/reduce.h"

#include <tests/kernels/op_test.h>

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
  OpCase test;
  test.op = std::make_shared<ReduceOp>(attributes);
  test.inputs = {activation(uniform(shape, 121))};
  test.reference = [attributes](std::span<const HostTensor> in) {
    return std::vector<HostTensor>{reduced(in[0], attributes)};
  };
  // Sums are fp64, so an error is the rounding of y: even where terms cancel.
  test.value_factor = 1.01;
  test.floor = 1e-4;  // below it fp16 has fewer bits
  test.gradient_factor = 2;
  test.gradient_samples = 40;
  return test;
}

class ReduceTest : public OpTest {};

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

SPIRE_TEST_EVERYWHERE(ReduceTest);

TEST(ReduceOp, RefusesAnAxisThatIsNotThere) {
  EXPECT_EQ(refusal(ReduceOp({.axis = 2}), {f32({4, 3})}),
            "[sum] fp32 (4, 3) has no axis 2; use -2 to 1");
  EXPECT_EQ(refusal(ReduceOp({.axis = -3, .mean = true}), {f32({4, 3})}),
            "[mean] fp32 (4, 3) has no axis -3; use -2 to 1");
  EXPECT_EQ(refusal(ReduceOp({.axis = 0}), {f32({4})}),
            "[sum] fp32 (4) has no axis beside the one that is summed");
  EXPECT_EQ(refusal(ReduceOp(), {{{4, 3}, DType::i32}}), "[sum] cannot compute on int32 (4, 3)");
}

}  // namespace
}  // namespace spire::testing

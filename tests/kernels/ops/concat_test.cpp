#include "kernels/ops/concat/concat.h"

#include <tests/kernels/op_test.h>

namespace spire::testing {
namespace {

// y[before, a, after] over the axes before, at and after the joined one.
std::vector<HostTensor> joined(Tensors in, int axis) {
  Shape shape = in[0].shape;
  int64_t before = 1, after = 1;
  for (int i = 0; i < shape.rank(); ++i) (i < axis ? before : after) *= i == axis ? 1 : shape[i];
  shape[axis] = 0;
  for (const HostTensor& part : in) shape[axis] += part.shape[axis];
  HostTensor y = zeros(shape);
  int64_t begin = 0;
  for (const HostTensor& part : in) {
    int64_t length = part.shape[axis];
    for (int64_t b = 0; b < before; ++b) {
      for (int64_t i = 0; i < length * after; ++i) {
        y[(b * shape[axis] + begin) * after + i] = part[b * length * after + i];
      }
    }
    begin += length;
  }
  return {y};
}

// The elements [begin, begin + length) of an axis.
std::vector<HostTensor> cut(const HostTensor& x, int axis, int64_t begin, int64_t length) {
  Shape shape = x.shape;
  shape[axis] = length;
  int64_t after = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) after *= shape[i];
  HostTensor y = zeros(shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    int64_t row = i / (length * after), at = i % (length * after);
    y[i] = x[(row * x.shape[axis] + begin) * after + at];
  }
  return {y};
}

// The channels of x, and zeros behind them.
OpCase pad_case(Shape shape, int64_t channels) {
  OpCase test(PadChannelsOp(channels), {activation(uniform(shape, 71))}, [channels](Tensors in) {
    Shape padded = in[0].shape;
    int64_t kept = padded.back();
    padded[padded.rank() - 1] = channels;
    HostTensor y = zeros(padded);
    for (int64_t i = 0; i < in[0].size(); ++i) y[i / kept * channels + i % kept] = in[0][i];
    return y;
  });
  test.value_factor = 0;  // bytes are moved as they are
  return test;
}

SPIRE_OP_TEST(ConcatTest);
SPIRE_OP_TEST(PadChannelsTest);

TEST_P(ConcatTest, ValuesAndGradientsAlongEachAxis) {
  for (int axis = 0; axis < 4; ++axis) {
    OpCase test;
    test.op = std::make_shared<ConcatOp>(axis == 3 ? -1 : axis);
    for (int64_t length : {1, 3, 2}) {
      Shape shape{2, 3, 2, 4};
      shape[axis] = length;
      test.inputs.push_back(activation(uniform(shape, 90 + static_cast<uint64_t>(length))));
    }
    test.reference = [axis](Tensors in) { return joined(in, axis); };
    test.value_factor = test.gradient_factor = 0;  // exact
    check_op(test, GetParam());
  }
}

TEST_P(ConcatTest, SlicesAndTheirGradients) {
  for (int axis = 0; axis < 3; ++axis) {
    OpCase test(SliceOp(SliceAttributes{axis, 1, 2}), {activation(uniform({3, 4, 5}, 97))},
                [axis](Tensors in) { return cut(in[0], axis, 1, 2); });
    test.value_factor = test.gradient_factor = 0;  // exact
    check_op(test, GetParam());
  }
}

// Enough bytes for the chunks of several threads.
TEST_P(ConcatTest, SharesManyRowsAmongThreads) {
  OpCase test(ConcatOp(),
              {activation(uniform({3, 5000, 5}, 95)), activation(uniform({3, 5000, 2}, 96))},
              [](Tensors in) { return joined(in, 2); });
  test.value_factor = 0;
  check_values(test, GetParam());
}

// Rows that begin at multiples of 16 bytes, of 8, and in between.
TEST_P(ConcatTest, RowsOfEveryAlignment) {
  for (auto [first, second] : {std::pair<int64_t, int64_t>{32, 16}, {8, 24}, {4, 12}, {6, 2}}) {
    OpCase test(ConcatOp(),
                {activation(uniform({37, 3, first}, 98)), activation(uniform({37, 3, second}, 99))},
                [](Tensors in) { return joined(in, 2); });
    test.value_factor = test.gradient_factor = 0;  // exact
    test.gradient_samples = 40;
    check_op(test, GetParam());
    OpCase slice(SliceOp(SliceAttributes{2, first, second}),
                 {activation(uniform({37, 3, first + second + first}, 94))},
                 [=](Tensors in) { return cut(in[0], 2, first, second); });
    slice.value_factor = slice.gradient_factor = 0;  // exact
    slice.gradient_samples = 40;
    check_op(slice, GetParam());
  }
}

TEST_P(PadChannelsTest, KeepsWhatIsThereAndWritesZerosBehind) {
  check_op(pad_case({2, 3, 4, 5}, 9), GetParam());
  check_op(pad_case({1, 2, 2, 16}, 32), GetParam());
  check_op(pad_case({700, 1}, 2), GetParam());
  check_op(pad_case({2, 9, 9, 3}, 8), GetParam());
  check_op(pad_case({2, 9, 9, 3}, 4), GetParam());
}

TEST(ConcatOp, RefusesPartsThatDoNotFit) {
  TensorSpec a{{2, 3}, DType::f32}, b{{2, 5}, DType::f32}, half{{2, 5}, DType::bf16};
  EXPECT_EQ(ConcatOp(1).infer(std::vector{a, b})[0].shape, (Shape{2, 8}));
  EXPECT_THROW(ConcatOp(0).infer(std::vector{a, b}), Error);
  EXPECT_THROW(ConcatOp(1).infer(std::vector{a, half}), Error);
  EXPECT_THROW(ConcatOp(2).infer(std::vector{a, a}), Error);
  EXPECT_THROW(ConcatOp(1).infer(std::vector<TensorSpec>{}), Error);
  EXPECT_THROW(SliceOp({1, 2, 2}).infer(std::vector{a}), Error);
  EXPECT_EQ(SliceBackwardOp({1, 2, 5}).infer(std::vector{a})[0], b);
  EXPECT_THROW(SliceBackwardOp({1, 3, 5}).infer(std::vector{a}), Error);
}

TEST(PadChannelsOp, RefusesFewerChannels) {
  TensorSpec x{{2, 3, 3, 8}, DType::f32}, labels{{4}, DType::i32};
  EXPECT_THROW(PadChannelsOp(8).infer(std::vector{x}), Error);
  EXPECT_THROW(PadChannelsOp(9).infer(std::vector{labels}), Error);
}

}  // namespace
}  // namespace spire::testing

#include <tests/kernels/op_test.h>

#include "kernels/ops/concat/concat.h"

namespace spire::testing {

namespace {

OpCase pad_case(Shape shape, int64_t channels) {
  OpCase test;
  test.op = std::make_shared<PadChannelsOp>(channels);
  test.inputs = {activation(uniform(shape, 71))};
  test.reference = [channels](std::span<const HostTensor> in) {
    Shape padded = in[0].shape;
    int64_t kept = padded.back();
    padded[padded.rank() - 1] = channels;
    HostTensor y = zeros(padded);
    for (int64_t i = 0; i < in[0].size(); ++i) y[i / kept * channels + i % kept] = in[0][i];
    return std::vector<HostTensor>{y};
  };
  test.value_factor = 0;  // bytes are moved as they are
  return test;
}

class PadChannelsTest : public OpTest {};

}  // namespace

TEST_P(PadChannelsTest, KeepsWhatIsThereAndWritesZerosBehind) {
  check_op(pad_case({2, 3, 4, 5}, 9), GetParam());
  check_op(pad_case({1, 2, 2, 16}, 32), GetParam());
  check_op(pad_case({700, 1}, 2), GetParam());
  check_op(pad_case({2, 9, 9, 3}, 8), GetParam());
  check_op(pad_case({2, 9, 9, 3}, 4), GetParam());
}

SPIRE_TEST_EVERYWHERE(PadChannelsTest);

TEST(PadChannelsOp, RefusesFewerChannels) {
  TensorSpec x{{2, 3, 3, 8}, DType::f32}, labels{{4}, DType::i32};
  EXPECT_THROW(PadChannelsOp(8).infer(std::vector{x}), Error);
  EXPECT_THROW(PadChannelsOp(9).infer(std::vector{labels}), Error);
}

}  // namespace spire::testing

// Tests of the harness: it must find wrong values and wrong gradients.
#include <gtest/gtest-spi.h>
#include <tests/kernels/eager.h>

#include "kernels/ops/elementwise/activation.h"

namespace spire::testing {
namespace {

const Environment cpu{{DeviceKind::cpu, 0}, DType::f32, 1, 0};

// y = |x|, which no op computes: relu has its values for x > 0 only, and half of its gradient's
// sign.
std::vector<HostTensor> magnitude_of(Tensors in) {
  return absolute(in);
}

OpCase relu_case(double low, double high) {
  OpCase test(ActivationOp(ActivationAttributes{Activation::relu}),
              {activation(uniform({4, 5}, 1, low, high))}, magnitude_of);
  return test;
}

// y = relu(x) whose gradient is said to be that of a leaky relu.
class WrongGradientOp : public ActivationOp {
 public:
  WrongGradientOp() : ActivationOp({Activation::relu}) {}
  void gradient(GradientBuilder& builder) const override {
    auto wrong = std::make_unique<ActivationBackwardOp>(
        ActivationAttributes{Activation::leaky_relu, 0.001f});
    auto dx = builder.emit(std::move(wrong), {builder.output_gradient(0), builder.output(0)});
    builder.set_gradient(0, dx[0]);
  }
};

TEST(OpHarness, AcceptsWhatIsRight) {
  check_op(relu_case(0.1, 1), cpu);
}

TEST(OpHarness, SeesAWrongValue) {
  EXPECT_NONFATAL_FAILURE(check_values(relu_case(-1, -0.5), cpu), "output 0 element 0: kernel 0");
}

TEST(OpHarness, SeesAGradientThatIsWrongByAThousandth) {
  OpCase test = relu_case(-1, -0.5);
  test.op = std::make_shared<WrongGradientOp>();
  test.reference = [](Tensors in) { return zeros(in[0].shape); };
  EXPECT_NONFATAL_FAILURE(check_gradient(test, cpu), "gradient of input 0 element 0");
}

// Tensors in an arena have no more than the promised alignment in training, too.
TEST(OpHarness, GivesMemoryThatIsAlignedAsPromisedAndNoMore) {
  auto address = [](const std::shared_ptr<DeviceMemory>& memory) {
    return reinterpret_cast<uintptr_t>(memory->data());
  };
  for (size_t bytes : {0, 1, 64, 1000}) {
    EXPECT_EQ(address(garbage({}, bytes)) % 128, 64u);
    EXPECT_EQ(address(garbage({}, bytes, workspace_alignment)) % 512, 256u);
  }
}

TEST(OpHarness, CountsElementsAtAKink) {
  OpCase test = relu_case(-1e-6, 1e-6);
  test.reference = [](Tensors in) {
    HostTensor y = in[0];
    for (double& value : y.data) value = std::max(value, 0.0);
    return y;
  };
  EXPECT_NONFATAL_FAILURE(check_gradient(test, cpu), "elements at a kink");
  test.kink_share = 1;
  check_gradient(test, cpu);
}

TEST(OpHarness, MemoryStartsAsNaN) {
  TensorSpec spec{{3}, DType::bf16};
  HostTensor fresh = download({spec, false, garbage({}, spec.bytes())});
  for (double value : fresh.data) EXPECT_NE(value, value);
}

}  // namespace
}  // namespace spire::testing

// Tests which of Spire's attention kernels runs, by the compute capability of their code.
#include "kernels/ops/attention/attention.h"

#include <cmath>

#include <tests/kernels/op_test.h>

#include "cuda_runtime.h"

namespace spire::testing {
namespace {

// Lets kernels report code of a compute capability until the end of the scope.
struct CompiledFor {
  explicit CompiledFor(int capability) : before(emulation::compiled_for.exchange(capability)) {}
  ~CompiledFor() { emulation::compiled_for = before; }
  int before;
};

// Positions (2, 70) in documents of 66 and 4 tokens.
HostTensor document_positions() {
  HostTensor positions{{2, 70}, {}};
  for (int64_t i = 0; i < 140; ++i)
    positions.data.push_back(static_cast<double>(i % 70 < 66 ? i % 70 : i % 70 - 66));
  return positions;
}

// y, logsumexp and dqkv of random tensors (2, 70, C), C = 2 heads of 16.
std::vector<HostTensor> attend(const AttentionAttributes& attributes, DType dtype) {
  Environment environment{.device = {DeviceKind::cuda, 0}, .dtype = dtype};
  Input qkv = activation(uniform({2, 70, 3 * 32}, 351, -2, 2));
  std::vector<Input> forward = {qkv};
  if (attributes.documents) forward.push_back(labels(document_positions()));
  auto out = run_op(AttentionOp(attributes), forward, environment);
  std::vector<Input> inputs = {activation(uniform({2, 70, 32}, 352)), qkv, activation(out[0]),
                               statistic(out[1])};
  if (attributes.dropout > 0) inputs.push_back(labels(out[2]));
  if (attributes.documents) inputs.push_back(forward[1]);
  auto dqkv = run_op(AttentionBackwardOp(attributes), inputs, environment);
  return {out[0], out[1], dqkv[0]};
}

double largest_difference(const HostTensor& a, const HostTensor& b) {
  double largest = 0;
  for (int64_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Numbers are of the order of 1.
TEST(EmulationAttention, OlderGpusHaveThePlainKernels) {
  for (DType dtype : {DType::bf16, DType::f16})
    for (auto [dropout, documents] : {std::pair{0.0f, false}, {0.25f, false}, {0.25f, true}}) {
      AttentionAttributes attributes{
          .heads = 2, .causal = true, .dropout = dropout, .documents = documents};
      auto mma = attend(attributes, dtype);
      CompiledFor turing(75);
      auto plain = attend(attributes, dtype);
      double unit = dtype == DType::bf16 ? 0x1p-8 : 0x1p-11;
      for (size_t i : {0, 2}) {
        double difference = largest_difference(mma[i], plain[i]);
        EXPECT_LT(difference, 16 * unit) << i;
        EXPECT_GT(difference, 0) << i;
      }
      EXPECT_LT(largest_difference(mma[1], plain[1]), 1e-5);
    }
}

TEST(EmulationAttention, Fp32RunsOnThePlainKernels) {
  AttentionAttributes attributes{.heads = 2};
  auto here = attend(attributes, DType::f32);
  CompiledFor turing(75);
  auto plain = attend(attributes, DType::f32);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(here[i].data, plain[i].data);
}

}  // namespace
}  // namespace spire::testing

// Estimated steps against the closed form of a net of one layer.
#include "tools/performance/step_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/graph/passes.h"
#include "tests/base/message_of.h"
#include "tests/tools/words.h"

namespace spire {
namespace {

using testing::HasSubstr;

constexpr int64_t rows = 64, features = 32, units = 16;
constexpr double slow_memory = 1e-3;  // GB/s

StepEstimate estimate(DType dtype, const DescribedGpu& gpu) {
  Graph graph(true, dtype);
  Value x = graph.input("features", {{rows, features}, dtype});
  Value labels = graph.input("labels", {{rows}, DType::i32});
  Value w = graph.parameter("head.weight", {units, features}, init::constant(0));
  cross_entropy_loss(graph, tied_dense(graph, w, x), labels, 0.0f);
  auto gradients = differentiate(graph);
  remove_dead_nodes(graph, std::vector<Value>{gradients[0].gradient});
  return estimate_step(graph, gradients, 2, dtype, gpu);
}

std::vector<std::string> op_names(const StepEstimate& estimate) {
  std::vector<std::string> names;
  for (const OpTime& op : estimate.ops) names.push_back(op.layer + ":" + op.op);
  return names;
}

TEST(StepEstimate, CountsOperationsAndBytesOfEachOp) {
  StepEstimate step = estimate(DType::bf16, {"toy", 1, 1, slow_memory});
  ASSERT_THAT(op_names(step),
              testing::ElementsAre("head:dense", ":softmax_cross_entropy_with_gradient",
                                   "head:dense_backward_weights", ":update"));
  double product = 2.0 * rows * features * units;
  EXPECT_EQ(step.ops[0].flops, product);
  EXPECT_EQ(step.ops[2].flops, product);
  double x = 2 * rows * features, y = 2 * rows * units, w = 2 * units * features;
  EXPECT_EQ(step.ops[0].bytes, x + w + y);
  EXPECT_EQ(step.ops[1].bytes, y + 4 * rows + y + 8 + 8);  // labels, gradient, two sums
  EXPECT_EQ(step.ops[2].bytes, x + y + 2 * w);             // fp32
  // Gradients twice, weights and two slots back and forth, the packed form from the weights.
  EXPECT_EQ(step.ops[3].bytes, units * features * (8 + 8 + 16 + 6.0));
}

TEST(StepEstimate, TakesTheLongerOfArithmeticAndMemory) {
  StepEstimate memory = estimate(DType::bf16, {"toy", 1, 1, slow_memory});
  const ReachedShares& shares = memory.shares;
  for (const OpTime& op : memory.ops) {
    double launches = op.op == "update" ? 2 : 1;
    EXPECT_DOUBLE_EQ(op.seconds, op.bytes / (shares.bandwidth * slow_memory * 1e9) +
                                     launches * shares.launch_seconds);
  }
  StepEstimate arithmetic = estimate(DType::bf16, {"toy", 1e-6, 1, 1e3});
  EXPECT_NEAR(arithmetic.ops[0].seconds,
              arithmetic.ops[0].flops / (shares.product * 1e6) + shares.launch_seconds, 1e-12);
  StepEstimate fp32 = estimate(DType::f32, {"toy", 1, 1e-6, 1e3});
  EXPECT_NEAR(fp32.ops[0].seconds, arithmetic.ops[0].seconds, 1e-12);
}

TEST(StepEstimate, APassHasTheSumsOfItsOps) {
  StepEstimate step = estimate(DType::bf16, {"toy", 1, 1, slow_memory});
  auto bytes = [&](auto... pass) { return sum_of(step.ops, pass...).bytes; };
  EXPECT_EQ(bytes(Pass::forward), step.ops[0].bytes + step.ops[1].bytes);
  EXPECT_EQ(bytes(Pass::backward), step.ops[2].bytes);
  EXPECT_EQ(bytes(Pass::update), step.ops[3].bytes);
  EXPECT_EQ(bytes(), bytes(Pass::forward) + bytes(Pass::backward) + bytes(Pass::update));
}

TEST(StepEstimate, TextHasTheSumsOfPassesAndTheStep) {
  std::string text = to_text(estimate(DType::bf16, described_gpu("h100")));
  expect_parts(text, {"estimate of a tower's step on h100", "nothing was measured"});
  expect_parts(text, {"forward   all", "backward  all", "update    all", "step      all"});
}

TEST(StepEstimate, UnknownGpusAreAnsweredWithTheKnownOnes) {
  EXPECT_EQ(message_of(Category::config, [] { described_gpu("h900"); }),
            "--gpu h900: unknown GPU; must be one of: h100, a100, l4, rtx4090");
}

}  // namespace
}  // namespace spire

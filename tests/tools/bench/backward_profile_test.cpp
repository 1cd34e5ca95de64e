#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tools/bench/limits/ceilings.h"
#include "tools/bench/prediction/step_profile.h"

namespace spire {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

constexpr int64_t rows = 8, width = 64, classes = 16;

Graph two_layers(int64_t batch, bool training) {
  Graph graph(training);
  Value x = graph.input("features", {{batch, width}, DType::f32});
  Value labels = graph.input("labels", {{batch}, DType::i32});
  Value hidden = dense(graph, "first", x, width);
  cross_entropy_loss(graph, dense(graph, "last", hidden, classes), labels, 0.0f);
  return graph;
}

struct Lowered {
  ParameterLayout layout = make_layout(two_layers, rows);
  LoweredGraph lowered = lower_for_training(two_layers(rows, true), {}, layout, false);
};

// Backward is: loss, last's weights, data, first's weights.
std::vector<std::string> backward_ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (node.backward) names.emplace_back(node.op->name());
  return names;
}

TEST(BackwardProfile, ABucketIsReadyAfterItsLastGradient) {
  Lowered net;
  ASSERT_EQ(backward_ops(net.lowered.graph).size(), 4u);
  int64_t last =
      std::min(net.layout.find("first.weight").offset, net.layout.find("first.bias").offset);
  int64_t total = net.layout.total_floats();
  ASSERT_LT(net.layout.find("last.weight").offset, last);  // as backward completes it first
  OpSeconds seconds = [](const OpWork& work) {
    return work.op == "dense_backward_weights" ? 3.0 : 1.0;
  };
  // Each of 8: the loss 1, weights 3, data 1, weights 3; in which order of the middle ones matters.
  bool data_first = backward_ops(net.lowered.graph)[1] != "dense_backward_weights";
  double early = data_first ? 5.0 / 8 : 4.0 / 8;
  EXPECT_THAT(ready_shares(net.lowered, net.layout, {{0, last}, {last, total}}, seconds),
              ElementsAre(DoubleEq(early), 1.0));
  EXPECT_THAT(ready_shares(net.lowered, net.layout, {{0, last + 1}, {last + 1, total}}, seconds),
              ElementsAre(1.0, 1.0));
}

TEST(BackwardProfile, RooflineIsTheLongerOfFlopsAndBytes) {
  Lowered net;
  Ceilings ceilings{.devices = 2, .fp32_flops_per_s = 2e9, .copy_bytes_per_s = 2e3};
  Roofline memory_bound = roofline_of(ceilings, 0.5);
  ceilings.copy_bytes_per_s = 2e30;
  Roofline arithmetic = roofline_of(ceilings, 0.5);
  auto ops = work_of(net.lowered.graph, net.lowered.gradients);
  auto product = std::ranges::find(ops, "dense", &OpWork::op);
  ASSERT_NE(product, ops.end());
  double floats = rows * width + width * width + width + rows * width;  // x, w, b, y
  EXPECT_DOUBLE_EQ(memory_bound.seconds(*product), 4 * floats / 1e3);
  EXPECT_DOUBLE_EQ(arithmetic.seconds(*product), 2.0 * rows * width * width / 1e9);
}

}  // namespace
}  // namespace spire

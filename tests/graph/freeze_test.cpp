// Tests what freezing leaves of a graph: backward ends at the lowest trained layer, and a frozen
// batch norm reads its running statistics.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/graph/finetuning.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t frozen_batch = 4;

// Two convolutions with batch norm, then the head.
Graph low_and_high_net(bool sync = false) {
  Graph g(true);
  Value x = g.input("images", {{frozen_batch, 6, 6, 3}, DType::f32});
  Value labels = g.input("labels", {{frozen_batch}, DType::i32});
  for (const char* name : {"low", "high"}) {
    x = conv2d(g, name, x, {.channels = 5, .padding = {1, 1}, .bias = false});
    x = relu(g, batch_norm(g, fmt::format("{}.norm", name), x, {.sync = sync}));
  }
  cross_entropy_loss(g, dense(g, "head", global_avg_pool(g, x), 3), labels, 0.0f);
  return g;
}

Differentiated lower(const FreezeOptions& freeze, bool sync = false) {
  Graph graph = low_and_high_net(sync);
  freeze_parameters(graph, freeze);
  return differentiated(std::move(graph));
}

std::vector<std::string> ops(const Graph& graph, bool backward) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes())
    if (node.backward == backward) names.emplace_back(node.op->name());
  return names;
}

std::vector<std::string> trained(const Differentiated& lowered) {
  std::vector<std::string> names;
  for (const auto& each : lowered.gradients)
    names.push_back(lowered.graph.tensor(each.parameter).name);
  return names;
}

TEST(Freeze, BackwardEndsAtTheLowestTrainedLayer) {
  Differentiated head = lower({{"low*", "high*"}});
  EXPECT_THAT(trained(head), testing::UnorderedElementsAre("head.weight", "head.bias"));
  EXPECT_THAT(ops(head.graph, true), ElementsAre("dense_backward_weights"));
  Differentiated top = lower({{"low*"}});
  EXPECT_EQ(op_count(top.graph, "conv2d_backward_weights"), 1);
  EXPECT_EQ(op_count(top.graph, "conv2d_backward_data"), 0);
  EXPECT_EQ(op_count(top.graph, "batch_norm_backward"), 1);
}

// Through a frozen layer between trained ones gradients pass, but it has none itself.
TEST(Freeze, GradientsPassThroughAFrozenLayer) {
  Differentiated lowered = lower({{"high*"}});
  EXPECT_THAT(trained(lowered),
              testing::UnorderedElementsAre("low.weight", "low.norm.gamma", "low.norm.beta",
                                            "head.weight", "head.bias"));
  EXPECT_EQ(op_count(lowered.graph, "conv2d_backward_weights"), 1);
  EXPECT_EQ(op_count(lowered.graph, "conv2d_backward_data"), 1);
  EXPECT_EQ(op_count(lowered.graph, "batch_norm_eval_backward"), 1);
}

TEST(Freeze, AFrozenBatchNormUpdatesNoState) {
  for (bool sync : {false, true}) {
    Differentiated lowered = lower({{"low*"}}, sync);
    EXPECT_EQ(lowered.graph.state_updates().size(), 2u);
    auto forward = ops(lowered.graph, false);
    EXPECT_EQ(std::ranges::count(forward, "batch_norm_eval"), 1);
    EXPECT_EQ(std::ranges::count(forward, "tower_sum"), sync ? 1 : 0);
    EXPECT_EQ(lower({{"low.norm.gamma"}}, sync).graph.state_updates().size(), 4u);
    EXPECT_EQ(lower({{"low*"}, false}, sync).graph.state_updates().size(), 4u);
  }
}

TEST(Freeze, TheLayoutEndsWithWhatIsFrozen) {
  Differentiated lowered = lower({{"low*"}});
  ParameterLayout layout(lowered.graph, lowered.gradients);
  std::vector<std::string> order;
  for (const ParameterEntry& entry : layout.entries()) {
    bool low = entry.name.starts_with("low"),
         statistic = entry.name.find("running") != entry.name.npos;
    EXPECT_EQ(entry.frozen, low) << entry.name;
    EXPECT_EQ(entry.statistic, statistic) << entry.name;
    order.push_back(low ? "frozen" : statistic ? "statistic" : "trained");
    int64_t begin = low ? layout.gradient_floats() : statistic ? layout.trained_floats() : 0;
    EXPECT_GE(entry.offset, begin) << entry.name;
  }
  EXPECT_EQ(std::ranges::count(order, "frozen"), 5);
  EXPECT_TRUE(std::ranges::is_sorted(order, std::greater{}));  // trained, statistic, frozen
  EXPECT_EQ(layout.frozen_count(), 5 * 3 * 9 + 2 * 5);
  EXPECT_EQ(layout.entries_with_gradients().size(), layout.entries().size() - 5);
}

// What is trained has the bits of the whole model's gradient, with activations in the gradient
// buffer and gaps that stay zero.
TEST(Freeze, OtherGradientsKeepTheirBits) {
  RandomImages data(frozen_batch, 6 * 6 * 3);
  for (bool over_gradients : {false, true}) {
    RunChoices choices{.over_gradients = over_gradients};
    GraphRun whole = run_graph(low_and_high_net(), data.images, data.labels, choices);
    Graph frozen = low_and_high_net();
    freeze_parameters(frozen, {{"low*"}, false});
    GraphRun part = run_graph(std::move(frozen), data.images, data.labels, choices);
    EXPECT_EQ(part.loss, whole.loss);
    for (const char* name : {"high.weight", "high.norm.gamma", "head.weight", "head.bias"})
      EXPECT_EQ(part.gradients.at(name), whole.gradients.at(name)) << name;
    EXPECT_LE(part.arena_bytes, whole.arena_bytes);
  }
}

TEST(Freeze, RefusesPatternsWithoutAMatchAndModelsWithoutTraining) {
  auto refusal = [](const std::vector<std::string>& patterns) {
    Graph graph = low_and_high_net();
    return message_of(Category::config, [&] { freeze_parameters(graph, {patterns}); });
  };
  EXPECT_THAT(refusal({"low*", "hed.weight"}),
              testing::AllOf(HasSubstr("freeze: 'hed.weight' matches none of 'low.weight'"),
                             HasSubstr("did you mean 'head.weight'?")));
  EXPECT_THAT(refusal({"*.running_mean"}),
              HasSubstr("freeze: '*.running_mean' matches running statistics only, which follow "
                        "their batch norm; freeze its gamma and beta"));
  EXPECT_THAT(refusal({"*"}), HasSubstr("all 8 parameters of the model, so nothing is left"));
}

}  // namespace
}  // namespace spire

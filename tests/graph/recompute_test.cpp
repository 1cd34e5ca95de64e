// Tests recomputation of blocks in backward: the same bits in less memory, and no node runs twice
// that must not.
#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t recompute_batch = 6;

Value conv_norm(Graph& g, const std::string& name, Value x, bool sync) {
  x = conv2d(g, name, x, {.channels = 4, .padding = {1, 1}, .bias = false});
  return batch_norm(g, fmt::format("n{}", name), x, {.sync = sync});
}

// Residual blocks of convolutions, batch norms and dropout, then a dense block behind a view.
Graph block_net(bool sync = false) {
  Graph g(true);
  Value x = g.input("images", {{recompute_batch, 8, 8, 4}, DType::f32});
  Value labels = g.input("labels", {{recompute_batch}, DType::i32});
  x = relu(g, conv_norm(g, "stem", x, sync));
  for (int i = 0; i < 4; ++i) {
    Graph::Block block(g, fmt::format("block{}", i));
    Value y = dropout(g, relu(g, conv_norm(g, fmt::format("a{}", i), x, sync)), 0.3f);
    y = conv_norm(g, fmt::format("b{}", i), y, sync);
    x = relu(g, add(g, y, x));
  }
  {
    Graph::Block block(g, "block");
    Value flat = reshape(g, x, {recompute_batch, 256});
    x = dense(g, "d1", tanh(g, dense(g, "d0", flat, 64)), 32);
    x = dropout(g, x, 0.2f);
  }
  cross_entropy_loss(g, dense(g, "head", tanh(g, x), 3), labels, 0.0f);
  return g;
}

class Bits : public testing::TestWithParam<std::tuple<bool, bool, int>> {};

TEST_P(Bits, AreTheSameWithAndWithout) {
  auto [sync, fuse, threads] = GetParam();
  RandomImages data(recompute_batch, 8 * 8 * 4);
  std::set<double> losses;
  int64_t steps = threads == 1 ? 3 : 1;
  for (int64_t step = 0; step < steps; ++step) {  // dropout draws other numbers in each
    RunChoices choices{.fuse = fuse, .poison = 0xff, .threads = threads, .step = step};
    GraphRun kept = run_graph(block_net(sync), data.images, data.labels, choices);
    choices.recompute = true;
    GraphRun anew = run_graph(block_net(sync), data.images, data.labels, choices);
    EXPECT_EQ(anew.loss, kept.loss);
    EXPECT_EQ(anew.gradients, kept.gradients);
    EXPECT_LT(anew.arena_bytes, kept.arena_bytes);
    losses.insert(kept.loss);
  }
  EXPECT_EQ(losses.size(), static_cast<size_t>(steps));
}

INSTANTIATE_TEST_SUITE_P(Recompute, Bits,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Values(1, 2)),
                         [](const auto& test) {
                           return fmt::format("{}_{}_{}",
                                              std::get<0>(test.param) ? "sync" : "tower",
                                              std::get<1>(test.param) ? "fused" : "plain",
                                              std::get<2>(test.param));
                         });

// n blocks of k layers of equal tensors. All n k of them are stored without recomputation; with it
// the n between blocks, the inside of one block, and current gradients. A block's last dense and
// tanh run once: the output is kept, and no node reads the tensor between the two.
TEST(Recompute, AChainOfBlocksKeepsTheTensorsBetweenThem) {
  constexpr int n = 10, k = 8;
  constexpr int64_t width = 256;
  constexpr size_t bytes = recompute_batch * width * 4;
  auto chain = [] {
    Graph g(true);
    Value x = g.input("images", {{recompute_batch, width}, DType::f32});
    Value labels = g.input("labels", {{recompute_batch}, DType::i32});
    for (int i = 0; i < n; ++i) {
      Graph::Block block(g, fmt::format("block{}", i));
      for (int j = 0; j < k; ++j)
        x = tanh(g, dense(g, fmt::format("d{}", i * k + j), x, width, false));
    }
    cross_entropy_loss(g, dense(g, "head", x, 3), labels, 0.0f);
    return g;
  };
  Differentiated kept = differentiated(chain()), anew = differentiated(chain());
  EXPECT_EQ(recompute_blocks(anew.graph), n * (2 * k - 2));
  ParameterLayout layout(kept.graph, kept.gradients);
  size_t all = BufferAssignment(kept.graph, kept.gradients, layout).arena_bytes();
  size_t some = BufferAssignment(anew.graph, anew.gradients, layout).arena_bytes();
  EXPECT_GE(all, n * k * bytes);
  EXPECT_LE(some, (n + k + 3) * bytes);
}

TEST(Recompute, BackwardReadsNothingFromInsideABlock) {
  Differentiated p = differentiated(block_net());
  std::vector<int> block_of(static_cast<size_t>(p.graph.value_count()), -1);
  std::vector<size_t> bytes(block_of.size());
  std::set<int> leaves;
  for (const Node& node : p.graph.nodes()) {
    for (Value v : node.outputs)
      block_of[static_cast<size_t>(v.id)] = node.backward ? -1 : node.block;
    for (Value v : node.inputs) {
      if (!node.backward && block_of[static_cast<size_t>(v.id)] != node.block) leaves.insert(v.id);
    }
  }
  recompute_blocks(p.graph);
  constexpr size_t image = recompute_batch * 8 * 8 * 4 * 4;
  int large = 0;
  for (const Node& node : p.graph.nodes()) {
    if (!node.backward) continue;
    for (Value v : node.inputs) {
      auto id = static_cast<size_t>(v.id);
      if (id >= block_of.size() || block_of[id] < 0 || leaves.contains(v.id)) continue;
      large += p.graph.spec(v).bytes() == image;
    }
  }
  EXPECT_EQ(large, 0);
}

TEST(Recompute, RepetitionsKeepTheIdsThatKeyRandomNumbers) {
  Differentiated p = differentiated(block_net());
  std::vector<int> drawn;
  for (const Node& node : p.graph.nodes()) {
    if (node.op->name() == "dropout") drawn.push_back(node.id);
  }
  ASSERT_EQ(drawn.size(), 5u);
  recompute_blocks(p.graph);
  std::vector<int> again;
  for (const Node& node : p.graph.nodes()) {
    if (node.op->name() == "dropout" && node.backward) again.push_back(node.id);
  }
  // The last dropout's key is kept, and no node reads its output again. Backward goes back.
  EXPECT_EQ(again, std::vector<int>(drawn.rbegin() + 1, drawn.rend()));
}

TEST(Recompute, SumsOverTowersAreMadeOnce) {
  Differentiated p = differentiated(block_net(true));
  int64_t sums = op_count(p.graph, "tower_sum"), moments = op_count(p.graph, "batch_norm_moments");
  int64_t norms = op_count(p.graph, "batch_norm_sync");
  EXPECT_GT(recompute_blocks(p.graph), 0);
  EXPECT_EQ(op_count(p.graph, "tower_sum"), sums);
  EXPECT_EQ(op_count(p.graph, "batch_norm_moments"), moments);
  EXPECT_GT(op_count(p.graph, "batch_norm_sync"), norms);
}

TEST(Recompute, GradientsAreTheSameTensorsInTheSameOrder) {
  Differentiated p = differentiated(block_net());
  ParameterLayout before(p.graph, p.gradients);
  recompute_blocks(p.graph);
  ParameterLayout after(p.graph, p.gradients);
  ASSERT_EQ(before.entries().size(), after.entries().size());
  for (size_t e = 0; e < before.entries().size(); ++e)
    EXPECT_EQ(before.entries()[e].name, after.entries()[e].name);
  EXPECT_TRUE(std::ranges::is_sorted(p.gradients, {}, [&](const ParameterGradient& g) {
    return p.graph.tensor(g.gradient).producer;
  }));
}

TEST(Recompute, EveryNodeReadsWhatEarlierOnesMade) {
  for (bool fuse : {false, true}) {
    Differentiated p = differentiated(block_net(true), fuse);
    recompute_blocks(p.graph);
    const auto& nodes = p.graph.nodes();
    for (size_t n = 0; n < nodes.size(); ++n) {
      for (Value v : nodes[n].inputs) EXPECT_LT(p.graph.tensor(v).producer, static_cast<int>(n));
    }
  }
}

TEST(Recompute, ASecondTimeChangesNothing) {
  Differentiated p = differentiated(block_net());
  EXPECT_GT(recompute_blocks(p.graph), 0);
  EXPECT_EQ(recompute_blocks(p.graph), 0);
}

TEST(Recompute, WithoutBlocksNothingRunsTwice) {
  Graph g(true);
  Value x = g.input("images", {{recompute_batch, 8}, DType::f32});
  Value labels = g.input("labels", {{recompute_batch}, DType::i32});
  cross_entropy_loss(g, dense(g, "b", tanh(g, dense(g, "a", x, 8)), 3), labels, 0.0f);
  Differentiated p = differentiated(std::move(g));
  EXPECT_EQ(recompute_blocks(p.graph), 0);
}

TEST(Recompute, ABlockInsideABlockBelongsToIt) {
  Graph g(true);
  Value x = g.input("images", {{recompute_batch, 8}, DType::f32});
  {
    Graph::Block outer(g, "outer");
    x = tanh(g, x);
    {
      Graph::Block inner(g, "inner");
      x = tanh(g, x);
    }
    x = tanh(g, x);
  }
  x = tanh(g, x);
  {
    Graph::Block next(g, "next");
    x = tanh(g, x);
  }
  std::vector<int> blocks;
  for (const Node& node : g.nodes()) blocks.push_back(node.block);
  EXPECT_EQ(blocks, (std::vector<int>{0, 0, 0, -1, 1}));
  EXPECT_EQ(g.blocks(), (std::vector<std::string>{"outer", "next"}));
}

// relu(conv) across the edge of a block: the fused node is in neither.
TEST(Recompute, ANodeFusedAcrossAnEdgeIsInNoBlock) {
  Graph g(true);
  Value x = g.input("images", {{recompute_batch, 8, 8, 4}, DType::f32});
  {
    Graph::Block block(g, "block");
    x = conv2d(g, "c", tanh(g, x), {.channels = 4, .padding = {1, 1}});
  }
  relu(g, x);
  ASSERT_EQ(fuse_activations(g), 1);
  EXPECT_EQ(g.nodes()[0].block, 0);
  EXPECT_EQ(g.nodes()[1].block, -1);
  EXPECT_EQ(g.nodes()[1].id, 1);
}

TEST(Recompute, AGraphWithRepetitionsIsNotNumberedAnew) {
  Differentiated p = differentiated(block_net());
  recompute_blocks(p.graph);
  EXPECT_THROW(p.graph.number_nodes(), Error);
}

}  // namespace
}  // namespace spire

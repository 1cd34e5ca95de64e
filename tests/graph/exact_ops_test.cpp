// The pass of precision: exact: what it replaces, what it leaves, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t exact_batch = 4;

struct Net {
  Graph graph{true};
  Value x = graph.input("images", {{exact_batch, 6, 6, 2}, DType::f32});
  Value labels = graph.input("labels", {{exact_batch}, DType::i32});
};

TEST(ExactOps, TakeThePlaceOfThoseThatSum) {
  Net net;
  Graph& g = net.graph;
  Value y = max_pool2d(g, relu(g, conv2d(g, "c", net.x, {.channels = 3, .padding = {1, 1}})));
  cross_entropy_loss(g, dense(g, "d", dropout(g, flatten(g, y), 0.5f), 5), net.labels, 0.1f);
  EXPECT_EQ(use_exact_ops(g, 32), 3);
  EXPECT_THAT(op_names(g), testing::ElementsAre("exact_product", "relu", "max_pool2d", "flatten",
                                                "dropout", "exact_product", "exact_cross_entropy"));
  fuse_activations(g);  // moves the relu, and fuses nothing
  auto gradients = differentiate(g);
  EXPECT_EQ(gradients.size(), 4u);
  auto count = [&](const char* name) { return op_count(g, name); };
  EXPECT_EQ(count("exact_range"), 2);
  EXPECT_EQ(count("tower_sum"), 4);
  EXPECT_EQ(count("exact_product_backward_weights"), 2);
  EXPECT_EQ(count("exact_product_backward_data"), 1);  // none for the images
  EXPECT_EQ(count("exact_gradient"), 2);
  EXPECT_EQ(count("exact_cross_entropy_backward"), 1);
}

TEST(ExactOps, AreRefusedWhereThereAreNone) {
  auto refusal = [](const std::function<Value(Net&)>& layer) {
    return message_of(Category::config, [&] {
      Net net;
      Graph& g = net.graph;
      cross_entropy_loss(g, dense(g, "d", flatten(g, layer(net)), 5), net.labels, 0.0f);
      use_exact_ops(g, 32);
    });
  };
  using testing::HasSubstr;
  EXPECT_EQ(
      refusal([](Net& net) { return batch_norm(net.graph, "bn", net.x); }),
      "precision: exact cannot compute 'batch_norm' of layer 'bn'; it trains linear, mlp, and "
      "cnn with model.normalization: none: use one of these, or precision: fp32, whose bits "
      "are the same on any devices but not for any split of the batch into towers");
  EXPECT_THAT(refusal([](Net& net) { return gelu(net.graph, net.x); }),
              HasSubstr("cannot compute 'gelu';"));
  EXPECT_THAT(refusal([](Net& net) {
                Graph::Block block(net.graph, "block1");
                return tanh(net.graph, net.x);
              }),
              HasSubstr("cannot compute 'tanh' in 'block1';"));
  EXPECT_THAT(
      refusal([](Net& net) { return conv2d(net.graph, "c", net.x, {.channels = 2, .groups = 2}); }),
      HasSubstr("cannot compute 'conv2d' of layer 'c' with groups;"));
  EXPECT_THAT(refusal([](Net& net) { return dense(net.graph, "p", net.x, 3); }),
              HasSubstr("cannot compute 'dense' of layer 'p' over sequences;"));
}

TEST(ExactOps, AreRefusedForLossesThatHaveNone) {
  auto refusal = [](const CrossEntropyOptions& options, int64_t positions) {
    return message_of(Category::config, [&] {
      Graph g(true);
      Value x = g.input("features", {{exact_batch * positions, 6}, DType::f32});
      Value labels = g.input("labels", {{exact_batch, positions}, DType::i32});
      Value y = reshape(g, dense(g, "d", x, 5), {exact_batch, positions, 5});
      cross_entropy_loss(g, y, labels, options);
      use_exact_ops(g, 32);
    });
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal({}, 3), HasSubstr("cannot compute 'softmax_cross_entropy' over sequences;"));
  EXPECT_THAT(refusal({.z_loss = 0.1f}, 1),
              HasSubstr("cannot compute 'softmax_cross_entropy' with loss.z_loss;"));
}

}  // namespace
}  // namespace spire

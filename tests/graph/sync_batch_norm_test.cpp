// Batch normalization over all towers as a layer: what it records, how it fuses, and that one tower
// trains with the bits of the plain layer.
#include <algorithm>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t sync_batch = 6;

// One of each form: with relu, with residual and relu, bare.
Graph norms_net(bool sync, bool training = true) {
  Graph g(training);
  Value x = g.input("images", {{sync_batch, 6, 6, 2}, DType::f32});
  Value labels = g.input("labels", {{sync_batch}, DType::i32});
  BatchNormOptions options{.sync = sync};
  auto normal = [&](const std::string& name, Value v) {
    Conv2dOptions conv{.channels = 4, .padding = {1, 1}, .bias = false};
    return batch_norm(g, "n" + name, conv2d(g, "c" + name, v, conv), options);
  };
  Value stem = relu(g, normal("0", x));
  Value y = relu(g, add(g, normal("1", stem), stem));
  y = tanh(g, normal("2", y));
  cross_entropy_loss(g, dense(g, "d", flatten(g, y), 3), labels, 0.0f);
  return g;
}

TEST(SyncBatchNorm, OneTowerTrainsWithTheBitsOfThePlainLayer) {
  RandomImages data(sync_batch, 6 * 6 * 2);
  for (bool fuse : {false, true}) {
    for (int threads : {1, 2}) {
      RunChoices choices{.fuse = fuse, .poison = 0xff, .threads = threads};
      GraphRun sync = run_graph(norms_net(true), data.images, data.labels, choices);
      GraphRun plain = run_graph(norms_net(false), data.images, data.labels, choices);
      EXPECT_EQ(sync.loss, plain.loss);
      EXPECT_EQ(sync.gradients, plain.gradients);
    }
  }
}

TEST(SyncBatchNorm, FusesWithReluAndResidual) {
  Graph sync = norms_net(true), plain = norms_net(false);
  EXPECT_EQ(fuse_activations(sync), 3);  // two relus, one add
  EXPECT_EQ(fuse_activations(plain), 3);
  EXPECT_EQ(op_count(sync, "relu") + op_count(sync, "add"), 0);
  EXPECT_EQ(op_count(sync, "batch_norm_sync"), 3);
}

TEST(SyncBatchNorm, TowersMeetOnceForwardAndOnceBackward) {
  Graph g = norms_net(true);
  fuse_activations(g);
  EXPECT_EQ(op_count(g, "tower_sum"), 3);
  g = differentiated(std::move(g), false).graph;
  EXPECT_EQ(op_count(g, "tower_sum"), 6);
  EXPECT_EQ(op_count(g, "batch_norm_gradient_sums"), 3);
  EXPECT_EQ(op_count(g, "batch_norm_sync_backward"), 3);
  EXPECT_EQ(op_count(g, "batch_norm") + op_count(g, "batch_norm_backward"), 0);
}

// Nothing before the first one is trained: its input needs no gradient, so towers need not meet.
TEST(SyncBatchNorm, AnInputThatIsNotTrainedNeedsNoSumBackward) {
  Graph g(true);
  Value x = g.input("images", {{sync_batch, 8}, DType::f32});
  Value labels = g.input("labels", {{sync_batch}, DType::i32});
  Value y = dense(g, "d", batch_norm(g, "n", x, {.sync = true}), 3);
  cross_entropy_loss(g, y, labels, 0.0f);
  differentiate(g);
  EXPECT_EQ(op_count(g, "tower_sum"), 1);
  EXPECT_EQ(op_count(g, "batch_norm_gradient_sums"), 1);
}

TEST(SyncBatchNorm, EvaluationUsesTheRunningStatisticsAsThePlainLayerDoes) {
  Graph sync = norms_net(true, false), plain = norms_net(false, false);
  EXPECT_EQ(op_names(sync), op_names(plain));
  EXPECT_EQ(op_count(sync, "batch_norm_eval"), 3);
}

TEST(SyncBatchNorm, BothLayersHaveTheSameParametersAndStates) {
  auto names = [](const Graph& graph) {
    std::vector<std::string> all;
    for (Role role : {Role::parameter, Role::state}) {
      for (Value value : graph.values_of(role)) all.push_back(graph.tensor(value).name);
    }
    return all;
  };
  EXPECT_EQ(names(norms_net(true)), names(norms_net(false)));
}

}  // namespace
}  // namespace spire

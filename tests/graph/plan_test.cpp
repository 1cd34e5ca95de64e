#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>
#include <spire/layers.h>

#include "engine/device/device_memory.h"
#include "kernels/ops/dense/dense.h"
#include "tests/base/message_of.h"
#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t plan_batch = 4;

// Every kind of sharing: a residual block, views, pooling, a branch that is read twice.
Graph residual_net() {
  Graph g(true);
  Value x = g.input("images", {{plan_batch, 8, 8, 2}, DType::f32});
  Value labels = g.input("labels", {{plan_batch}, DType::i32});
  Value stem = relu(
      g,
      batch_norm(g, "n0", conv2d(g, "c0", x, {.channels = 4, .padding = {1, 1}, .bias = false})));
  Value y = relu(g, batch_norm(g, "n1", conv2d(g, "c1", stem, {.channels = 4, .padding = {1, 1}})));
  y = batch_norm(g, "n2", conv2d(g, "c2", y, {.channels = 4, .padding = {1, 1}}));
  y = relu(g, add(g, y, stem));
  y = flatten(g, max_pool2d(g, y));
  Value wide = relu(g, dense(g, "d1", y, 16));
  Value logits = dense(g, "d2", add(g, wide, tanh(g, wide)), 3);
  cross_entropy_loss(g, logits, labels, 0.0f);
  return g;
}

void expect_near(const GraphRun& a, const GraphRun& b, double tolerance) {
  EXPECT_NEAR(a.loss, b.loss, tolerance * std::abs(b.loss));
  for (const auto& [name, values] : b.gradients) {
    double scale = 1e-3;
    for (float v : values) scale = std::max(scale, double{std::abs(v)});
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_NEAR(a.gradients.at(name)[i], values[i], tolerance * scale) << name << "[" << i << "]";
    }
  }
}

GraphRun run_residual_net(const RunChoices& choices = {}) {
  RandomImages data(plan_batch, 8 * 8 * 2);
  return run_graph(residual_net(), data.images, data.labels, choices);
}

TEST(Plan, FusionKeepsLossAndGradients) {
  expect_near(run_residual_net({.fuse = true}), run_residual_net({.fuse = false}), 1e-5);
}

TEST(Plan, KernelsReadWrittenMemoryOnly) {
  GraphRun zeros = run_residual_net({.poison = 0}), poisoned = run_residual_net({.poison = 0xff});
  EXPECT_EQ(zeros.loss, poisoned.loss);
  EXPECT_EQ(zeros.gradients, poisoned.gradients);
}

TEST(Plan, AnArenaOverTheGradientsKeepsTheBits) {
  GraphRun apart = run_residual_net();
  GraphRun over = run_residual_net({.poison = 0xff, .over_gradients = true});
  EXPECT_EQ(over.loss, apart.loss);
  EXPECT_EQ(over.gradients, apart.gradients);
}

// The sums of squares of whole chunks read the gaps, which no op writes.
TEST(Plan, AnArenaOverTheGradientsLeavesTheGapsAlone) {
  for (bool training : {true, false}) {
    Graph g = residual_net();
    auto gradients = differentiate(g);
    ParameterLayout layout(g, gradients);
    if (!training) gradients.clear();
    BufferAssignment places(g, gradients, layout, true);
    EXPECT_LE(places.peak_bytes(), places.arena_bytes());
    auto lies_in = [&](Value value, size_t begin, size_t end) {
      Place place = places.at(value);
      return place.space == Space::arena && place.offset < end &&
             begin < place.offset + g.spec(value).bytes();
    };
    for (const ParameterEntry& entry : layout.entries()) {
      auto begin = static_cast<size_t>(entry.offset + entry.elements()) * sizeof(float);
      for (const Node& node : g.nodes())
        for (Value value : node.outputs)
          EXPECT_FALSE(lies_in(value, begin, align_up(begin))) << entry.name;
      EXPECT_LE(align_up(begin) == begin ? 0 : align_up(begin), places.arena_bytes());
    }
  }
}

// For activations of any size before it.
TEST(Plan, TheWorkspaceBeginsAtItsAlignment) {
  for (int64_t size : {1, 16, 17, 33, 64, 100}) {
    Graph g(false);
    Value x = g.input("images", {{size}, DType::f32});
    g.mark_output("y", tanh(g, tanh(g, x)));
    ParameterLayout layout(g, {});
    BufferAssignment places(g, {}, layout);
    EXPECT_EQ(places.arena_bytes(), align_up(places.peak_bytes(), workspace_alignment)) << size;
    PackedWeights forms;
    Plan plan(std::move(g), {.device = {}}, layout, forms);
    EXPECT_EQ(plan.activation_bytes() % workspace_alignment, 0u) << size;
  }
}

TEST(Plan, RunsAreEqualToTheBit) {
  for (int threads : {1, 2}) {
    GraphRun a = run_residual_net({.threads = threads}), b = run_residual_net({.threads = threads});
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.gradients, b.gradients);
  }
}

// Central differences of the whole net in the weights' own initial values.
TEST(Plan, GradientsOfTheWholeNetFollowDifferencesOfItsLoss) {
  RandomImages data(plan_batch, 8 * 8 * 2);
  auto net = [&](float shift) {
    Graph g(true);
    Value x = g.input("images", {{plan_batch, 8, 8, 2}, DType::f32});
    Value labels = g.input("labels", {{plan_batch}, DType::i32});
    Value y =
        flatten(g, tanh(g, conv2d(g, "c", x, {.channels = 3, .initialize = init::constant(0.1f)})));
    Value w = g.parameter("shifted", {3, g.spec(y).shape[1]},
                          [&, shift](const RandomStream& r, int64_t first, std::span<float> v) {
                            init::kaiming_uniform(50)(r, first, v);
                            v[17] += shift;
                          });
    cross_entropy_loss(g, g.emit_op<DenseOp>({y, w})[0], labels, 0.1f);
    return run_graph(std::move(g), data.images, data.labels);
  };
  constexpr float h = 1e-2f;
  double numeric = (net(h).loss - net(-h).loss) / (2 * h) / plan_batch;
  EXPECT_NEAR(net(0).gradients["shifted"][17], numeric, 1e-4 * std::abs(numeric) + 1e-6);
}

TEST(Autodiff, AParameterWithoutInfluenceIsNamed) {
  Graph g = residual_net();
  g.parameter("orphan.weight", {3}, init::constant(0));
  EXPECT_THAT(message_of(Category::config, [&] { differentiate(g); }),
              testing::HasSubstr("orphan.weight"));
}

TEST(Passes, FusesReluAndResidualIntoTheOpBefore) {
  Graph g = residual_net();
  size_t before = g.nodes().size();
  // c0+n0+relu, c1+n1+relu, n2+add+relu, d1+relu: one relu each and one add.
  EXPECT_EQ(fuse_activations(g), 5);
  EXPECT_EQ(g.nodes().size(), before - 5);
}

TEST(Passes, RemovesDeadNodesAlone) {
  Graph g = residual_net();
  size_t before = g.nodes().size();
  Value images = g.values_of(Role::input)[0];
  relu(g, tanh(g, images));
  EXPECT_EQ(remove_dead_nodes(g), 2);
  EXPECT_EQ(g.nodes().size(), before);
}

TEST(ParameterLayout, FollowsBackwardAndKeepsStatisticsLast) {
  Graph g = residual_net();
  auto gradients = differentiate(g);
  ParameterLayout layout(g, gradients);
  EXPECT_EQ(layout.entries().front().name.substr(0, 2), "d2");
  EXPECT_EQ(layout.entries().back().name, "n2.running_var");
  int64_t next = 0;
  for (const auto& entry : layout.entries()) {
    EXPECT_EQ(entry.offset, next);
    EXPECT_EQ(entry.offset % 16, 0);
    next += (entry.elements() + 15) / 16 * 16;
  }
  EXPECT_EQ(layout.total_floats(), next);
  EXPECT_EQ(layout.parameter_count(),
            4 * 2 * 9 + (4 * 4 * 9 + 4) * 2 + 6 * 4 + 16 * 64 + 16 + 3 * 16 + 3);
}

TEST(ParameterLayout, InitialValuesDependOnSeedAndNameOnly) {
  Graph a = residual_net();
  ParameterLayout layout(a, differentiate(a));
  std::vector<float> one(static_cast<size_t>(layout.total_floats())), two = one, other = one;
  layout.initialize(1, one.data());
  layout.initialize(1, two.data());
  layout.initialize(2, other.data());
  EXPECT_EQ(layout.hash(one.data()), layout.hash(two.data()));
  EXPECT_NE(layout.hash(one.data()), layout.hash(other.data()));
}

TEST(ParameterLayout, AnyNumberOfThreadsWritesTheSameInitialValues) {
  Graph graph(true);
  std::vector<ParameterGradient> gradients;
  std::vector<std::pair<const char*, Initializer>> kinds = {
      {"a", init::normal(0.5)}, {"b", init::uniform(2)}, {"c", init::constant(3)}};
  for (const auto& [name, initializer] : kinds) {
    Value value = graph.parameter(name, {37, 301}, initializer);
    gradients.push_back({value, value});
  }
  ParameterLayout layout(graph, gradients);
  std::vector<float> whole(static_cast<size_t>(layout.total_floats()));
  layout.initialize(1, whole.data());
  for (int parts : {2, 3, 16, 1000}) {
    std::vector<float> shared(whole.size());
    for (int part = 0; part < parts; ++part) layout.initialize(1, shared.data(), part, parts);
    EXPECT_EQ(shared, whole) << parts;
  }
}

}  // namespace
}  // namespace spire

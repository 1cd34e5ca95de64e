// Tests that fuse_activations() may move a relu behind max pooling: loss and gradients keep their
// bits. Where it must not, the nodes stay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>
#include <spire/random_stream.h>

#include "tests/graph/run_graph.h"

namespace spire {
namespace {

using testing::ElementsAre;

const Shape pixels{1, 9, 7, 20};
const PoolOptions whole{.kernel = {2, 2}};
const PoolOptions overlapping{.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}};

using Middle = std::function<Value(Graph&, Value)>;

// A classifier of one sample. Its parameter "pixels.weight" is what `middle` reads, so that the
// gradient of each pixel is seen.
Graph net(DType dtype, const Middle& middle) {
  Graph g(true, dtype);
  Value one = g.input("one", {{1, 1}, dtype});
  Value labels = g.input("labels", {{1}, DType::i32});
  Value x = reshape(g, dense(g, "pixels", one, pixels.elements(), false), pixels);
  Value logits = dense(g, "head", flatten(g, middle(g, x)), 5);
  cross_entropy_loss(g, logits, labels, 0.0f);
  return g;
}

// By channel: below 0 all over; 0 and below, with many ties; multiples of 1/4 on both sides; any.
float pixel(size_t i) {
  RandomStream random(3, Purpose::initialize);
  auto step = static_cast<float>(random.below(i, 5)) / 4;
  switch (i % 20 % 4) {
    case 0:
      return -1 - step;
    case 1:
      return -step;
    case 2:
      return step - 0.5f;
    default:
      return 2 * random.uniform(i) - 1;
  }
}

void fill(const ParameterEntry& entry, std::span<float> values) {
  RandomStream random(4, Purpose::initialize);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = entry.name == "pixels.weight" ? pixel(i) : 2 * random.uniform(i) - 1;
}

GraphRun run(DType dtype, const Middle& middle, bool fuse) {
  float one = 1;
  bfloat16 half_one(1.0f);
  int32_t label = 2;
  const void* input = dtype == DType::f32 ? static_cast<const void*>(&one) : &half_one;
  return run_graph(net(dtype, middle), {input, &label}, 1, {.fuse = fuse, .fill = fill});
}

std::vector<std::string_view> names_of(const Graph& g) {
  std::vector<std::string_view> names = op_names(g);
  std::erase_if(names, [](auto name) { return name != "relu" && name != "max_pool2d"; });
  return names;
}

class ReluPooling : public testing::TestWithParam<DType> {
 protected:
  // Runs the net with and without fuse_activations().
  void expect_same_bits(const Middle& middle) const {
    GraphRun plain = run(GetParam(), middle, false), fused = run(GetParam(), middle, true);
    EXPECT_EQ(fused.loss, plain.loss);
    EXPECT_EQ(fused.gradients, plain.gradients);
    int positive = 0;
    for (float gradient : plain.gradients["pixels.weight"]) positive += gradient != 0;
    EXPECT_GT(positive, 20);
  }
  std::vector<std::string_view> fused_names(const Middle& middle) const {
    Graph g = net(GetParam(), middle);
    fuse_activations(g);
    return names_of(g);
  }
};

TEST_P(ReluPooling, MovingKeepsTheBits) {
  for (const PoolOptions& pool : {whole, overlapping}) {
    auto middle = [&](Graph& g, Value x) { return max_pool2d(g, relu(g, x), pool); };
    EXPECT_THAT(fused_names(middle), ElementsAre("max_pool2d", "relu"));
    expect_same_bits(middle);
  }
}

TEST_P(ReluPooling, AReluOfASumMovesToo) {
  auto middle = [&](Graph& g, Value x) {
    return max_pool2d(g, relu(g, add(g, x, tanh(g, x))), overlapping);
  };
  EXPECT_THAT(fused_names(middle), ElementsAre("max_pool2d", "relu"));
  expect_same_bits(middle);
}

TEST_P(ReluPooling, AReluThatOthersReadStays) {
  auto middle = [&](Graph& g, Value x) {
    x = relu(g, x);
    return max_pool2d(
        g, add(g, max_pool2d(g, x, overlapping), slice(g, slice(g, x, 1, 0, 5), 2, 0, 4)),
        overlapping);
  };
  EXPECT_THAT(fused_names(middle), ElementsAre("relu", "max_pool2d", "max_pool2d"));
  expect_same_bits(middle);
}

// Statistics of batch norm are sums, which the fused op forms alike.
TEST_P(ReluPooling, AReluThatIsFusedWithAResidualStays) {
  auto middle = [&](Graph& g, Value x) {
    return max_pool2d(g, relu(g, add(g, batch_norm(g, "n", x), x)), overlapping);
  };
  EXPECT_THAT(fused_names(middle), ElementsAre("max_pool2d"));
  GraphRun plain = run(GetParam(), middle, false), fused = run(GetParam(), middle, true);
  double unit = GetParam() == DType::f32 ? 1e-5 : 2e-2;
  EXPECT_NEAR(fused.loss, plain.loss, unit * plain.loss);
}

TEST_P(ReluPooling, AReluOfAnotherBlockStays) {
  auto middle = [&](Graph& g, Value x) {
    {
      Graph::Block block(g);
      x = relu(g, tanh(g, x));
    }
    Graph::Block block(g);
    return max_pool2d(g, x, overlapping);
  };
  EXPECT_THAT(fused_names(middle), ElementsAre("relu", "max_pool2d"));
  expect_same_bits(middle);
}

// Backward reads which element was the maximum, and the relu's result.
TEST_P(ReluPooling, NothingMovesThatBackwardReads) {
  Graph g = net(GetParam(), [&](Graph& graph, Value x) {
    return max_pool2d(graph, relu(graph, x), overlapping);
  });
  differentiate(g);
  EXPECT_EQ(fuse_activations(g), 0);
  EXPECT_EQ(names_of(g), (std::vector<std::string_view>{"relu", "max_pool2d"}));
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ReluPooling, testing::Values(DType::f32, DType::bf16),
                         [](const auto& test) { return std::string(to_string(test.param)); });

}  // namespace
}  // namespace spire

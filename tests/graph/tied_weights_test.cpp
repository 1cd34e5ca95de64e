// A parameter that is used twice: its gradients are added, and the sum needs no buffer of its own.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include <spire/layers.h>

#include "tests/graph/run_graph.h"

namespace spire {
namespace {

constexpr int64_t rows = 4, word_count = 3000, word_width = 16;

// logits = head tanh(table[ids]), where the head is the table or a parameter of the same values.
struct TiedNet {
  bool tied = true;

  Graph graph() const {
    Graph g(true);
    Value ids = g.input("ids", {{rows}, DType::i32});
    Value labels = g.input("labels", {{rows}, DType::i32});
    auto words = embedding(g, "words", ids, word_count, word_width, DType::f32, initial());
    Value head = tied ? words.table : g.parameter("head", {word_count, word_width}, initial());
    cross_entropy_loss(g, tied_dense(g, head, tanh(g, words.output)), labels, 0.0f);
    return g;
  }

  // A function of the place alone: equal for both names.
  static Initializer initial() {
    return [](const RandomStream&, int64_t first, std::span<float> values) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(static_cast<float>(first) + static_cast<float>(i));
    };
  }
};

// The first input takes floats: here these have the bits of ids.
GraphRun run_on_tokens(Graph graph) {
  std::vector<int32_t> ids = {5, 17, 5, 2999}, labels = {17, 5, 2, 0};
  std::vector<float> words(ids.size());
  std::memcpy(words.data(), ids.data(), ids.size() * sizeof(float));
  return run_graph(std::move(graph), words, labels, {.poison = 0xff});
}

TEST(TiedWeights, GradientIsTheSumOfBothUses) {
  GraphRun tied = run_on_tokens(TiedNet{true}.graph()),
           apart = run_on_tokens(TiedNet{false}.graph());
  EXPECT_EQ(tied.loss, apart.loss);
  const auto &sum = tied.gradients["words.weight"], &table = apart.gradients["words.weight"];
  const auto& head = apart.gradients["head"];
  double largest = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    float magnitude = std::abs(head[i]) + std::abs(table[i]);
    ASSERT_NEAR(sum[i], head[i] + table[i], 1e-6f * magnitude + 1e-9f) << i;
    largest = std::max(largest, std::abs(double{table[i]}));
  }
  EXPECT_GT(largest, 1e-3);
}

size_t activation_bytes(Graph net) {
  auto [graph, gradients] = differentiated(std::move(net), false);
  ParameterLayout layout(graph, gradients);
  PackedWeights forms;
  Plan plan(std::move(graph), {.device = {}, .threads = 1, .gradients = gradients}, layout, forms);
  return plan.activation_bytes();
}

// The head's gradient is made in the gradient buffer, and the table's is added to it there.
TEST(TiedWeights, SumNeedsNoTableInTheArena) {
  EXPECT_LT(activation_bytes(TiedNet{true}.graph()), size_t{word_count * word_width * 4});
  EXPECT_EQ(activation_bytes(TiedNet{true}.graph()), activation_bytes(TiedNet{false}.graph()));
}

// Two dense layers of one weight: the first gradient waits in the gradient buffer for the second.
TEST(TiedWeights, AddedGradientsShareTheGradientBuffer) {
  Graph g(true);
  Value x = g.input("images", {{rows, 256}, DType::f32});
  Value labels = g.input("labels", {{rows}, DType::i32});
  Value w = g.parameter("w", {256, 256}, init::linear_uniform(256));
  Value logits = tied_dense(g, w, tanh(g, tied_dense(g, w, x)));
  cross_entropy_loss(g, logits, labels, 0.0f);
  EXPECT_LT(activation_bytes(std::move(g)), size_t{2 * 256 * 256 * 4});
}

}  // namespace
}  // namespace spire

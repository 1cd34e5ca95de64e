// Tests errors of recording a graph, and the table of its layers against counts done by hand.
#include "engine/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "engine/graph/passes.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/matmul/matmul.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

template <typename Body>
std::string refusal(const Body& body) {
  return message_if_any(Category::config, body);
}

TEST(Graph, NamesOfParametersAreUnique) {
  Graph graph(true);
  graph.input("x", {{2, 3}, DType::f32});
  graph.parameter("w", {3}, init::constant(0));
  EXPECT_EQ(refusal([&] { graph.parameter("w", {4}, init::constant(0)); }),
            "two tensors of the model are named 'w'");
  EXPECT_EQ(refusal([&] { graph.state("w", {4}, 0); }), "two tensors of the model are named 'w'");
  EXPECT_EQ(refusal([&] { graph.parameter("x", {3}, init::constant(0)); }),
            "two tensors of the model are named 'x'");
}

TEST(Graph, TensorsHaveUpTo2To40Elements) {
  constexpr int64_t million = 1 << 20;
  Graph graph(true);
  EXPECT_EQ(refusal([&] { graph.parameter("most", {million, million}, init::constant(0)); }), "");
  EXPECT_EQ(
      refusal([&] {
        graph.parameter("w", {million, million, 2}, init::constant(0));
      }),
      "a tensor of (1048576, 1048576, 2) has more than 2^40 elements; make the model smaller");
  Shape overflowing = {int64_t{1} << 62, 4};  // its product is 0 in 64 bits
  EXPECT_THAT(refusal([&] {
                graph.input("x", {overflowing, DType::f32});
              }),
              HasSubstr("more than 2^40 elements"));
}

// Two samples of 6x6x3: a convolution of 4 channels, norm, relu, flatten, a dense layer of 5.
Graph small_model(bool training = true) {
  Graph graph(training);
  Value x = graph.input("images", {{2, 6, 6, 3}, DType::f32});
  Value labels = graph.input("labels", {{2}, DType::i32});
  x = conv2d(graph, "stem.conv", x, {.channels = 4, .padding = {1, 1}});
  x = relu(graph, batch_norm(graph, "stem.norm", x));
  cross_entropy_loss(graph, dense(graph, "head", flatten(graph, x), 5), labels, 0);
  return graph;
}

const LayerRow& row_of(const std::vector<LayerRow>& rows, const std::string& op) {
  for (const LayerRow& row : rows) {
    if (row.op == op) return row;
  }
  fail(Category::unexpected, "no row of {}", op);
}

TEST(LayerTable, NamesShapesAndCountsOfEachOp) {
  auto rows = layer_table(small_model());
  ASSERT_EQ(rows.size(), 6u);
  const LayerRow& conv = row_of(rows, "conv2d");
  EXPECT_EQ(conv.name, "stem.conv");
  EXPECT_EQ(conv.output_shape, (std::vector<int64_t>{2, 6, 6, 4}));
  EXPECT_EQ(conv.output_type, to_string(DType::f32));
  EXPECT_EQ(conv.parameters, 4 * 3 * 9 + 4);
  EXPECT_EQ(conv.multiply_adds, 2 * 36 * 4 * 3 * 9);
  EXPECT_EQ(conv.activation_bytes, 2u * 36 * 4 * 4);

  const LayerRow& norm = row_of(rows, "batch_norm");
  EXPECT_EQ(norm.name, "stem.norm");
  EXPECT_EQ(norm.parameters, 8);  // running statistics are not trained
  EXPECT_EQ(norm.multiply_adds, 0);

  EXPECT_EQ(row_of(rows, "relu").name, "relu");
  EXPECT_EQ(row_of(rows, "flatten").activation_bytes, 0u);  // the memory of its input
  const LayerRow& head = row_of(rows, "dense");
  EXPECT_EQ(head.multiply_adds, 2 * 144 * 5);
  EXPECT_EQ(head.parameters, 144 * 5 + 5);
}

TEST(LayerTable, TotalsAreSums) {
  LayerRow total = total_of(layer_table(small_model()));
  EXPECT_EQ(total.parameters, 112 + 8 + 725);
  EXPECT_EQ(total.multiply_adds, 2 * (36 * 108 + 720));
}

TEST(LayerTable, FusedOpsAreOneRow) {
  Graph graph = small_model();
  fuse_activations(graph);
  auto rows = layer_table(graph);
  EXPECT_EQ(rows.size(), 5u);
  EXPECT_EQ(total_of(rows).parameters, total_of(layer_table(small_model())).parameters);
}

TEST(LayerTable, ASharedParameterCountsOnce) {
  Graph graph(true);
  Value x = graph.input("x", {{3, 8}, DType::f32});
  Value b = graph.parameter("shared.bias", {8}, init::constant(0));
  for (int use = 0; use < 2; ++use) x = graph.emit_op<BiasOp>({x, b})[0];
  auto rows = layer_table(graph);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].parameters, 8);
  EXPECT_EQ(rows[1].parameters, 0);
  EXPECT_EQ(rows[1].name, "shared");
}

TEST(LayerTable, GroupsAndTransposedProductsCountWhatTheyMultiply) {
  Graph graph(true);
  Value x = graph.input("x", {{1, 5, 5, 8}, DType::f32});
  conv2d(graph, "depthwise", x, {.channels = 8, .groups = 8, .bias = false});
  Value a = graph.input("a", {{2, 7, 3}, DType::f32}),
        b = graph.input("b", {{2, 7, 4}, DType::f32});
  graph.emit_op<MatmulOp>({a, b}, MatmulAttributes{.transpose_a = true});
  auto rows = layer_table(graph);
  EXPECT_EQ(rows[0].multiply_adds, 9 * 8 * 9);
  EXPECT_EQ(rows[1].multiply_adds, 2 * 3 * 4 * 7);
}

}  // namespace
}  // namespace spire

// Ops that no model uses, in graphs of their own: the nodes compute what Spire computes.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/layers.h>

#include "engine/onnx/emitters.h"
#include "engine/onnx/onnx_file.h"
#include "kernels/ops/labels/labels.h"
#include "kernels/ops/matmul/matmul.h"
#include "tests/base/folder.h"
#include "tests/base/message_of.h"
#include "tests/models/forward.h"
#include "tests/onnx/exported_models.h"
#include "tests/onnx/reference_run.h"

namespace spire {
namespace {

// A graph of one input x (batch, ..), without parameters.
using Body = std::function<Value(Graph&, Value x)>;

Graph graph_of(const Body& body, Shape row, int64_t batch) {
  std::vector<int64_t> dims = {batch};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  Graph graph(false);
  graph.mark_output("output", body(graph, graph.input("x", {Shape(dims)})));
  return graph;
}

ParsedOnnx exported(const Body& body, Shape row) {
  Graph one = graph_of(body, row, 1), two = graph_of(body, row, 2);
  Folder scratch;
  OnnxModel model = {.graph = to_onnx({one, two}, 20, "y", false), .opset = 20};
  std::vector<TensorToWrite> zeros;
  for (const OnnxWeight& weight : model.graph.weights)
    zeros.push_back({weight.name, weight.shape, [](int64_t, std::span<float>) {}});
  write_onnx(scratch / "m", model, zeros, {});
  return parse_onnx(scratch / "m");
}

// Both compute y for two samples.
void expect_equal_values(const Body& body, Shape row) {
  constexpr int64_t samples = 2;
  std::vector<float> rows = random_numbers(samples * row.elements(), 3);
  std::vector<float> expected = forward(graph_of(body, row, samples), rows.data());
  OnnxArray input{{samples}, {rows.begin(), rows.end()}};
  input.dims.insert(input.dims.end(), row.dims().begin(), row.dims().end());
  if (row.rank() == 3) {  // images (N, C, H, W)
    ParsedNode transpose;
    transpose.attributes["perm"].ints = {0, 3, 1, 2};
    input = shape_formulas().at("Transpose")(transpose, {&input})[0];
  }
  OnnxArray found = reference_run(exported(body, row), input);
  ASSERT_EQ(found.data.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found.data[i], double{expected[i]}, 1e-5) << i;
}

Value product(Graph& graph, Value a, Value b, MatmulAttributes attributes) {
  return graph.emit_op<MatmulOp>({a, b}, attributes)[0];
}

TEST(OnnxOps, ProductsOfActivations) {
  expect_equal_values([](Graph& g, Value x) { return product(g, x, x, {.transpose_b = true}); },
                      {4, 6});
  expect_equal_values([](Graph& g, Value x) { return product(g, x, x, {.transpose_a = true}); },
                      {4, 6});
  expect_equal_values(
      [](Graph& g, Value x) {
        return mul(g, x, matmul(g, x, transpose(g, x, {0, 2, 1})));
      },
      {5, 5});
}

// Axes 0 to 3 of an image, which lies with the channels first in ONNX.
TEST(OnnxOps, SlicesAndTransposesOfImages) {
  for (int axis : {1, 2, 3})
    expect_equal_values([=](Graph& g, Value x) { return slice(g, relu(g, x), axis, 1, 2); },
                        {4, 5, 3});
  expect_equal_values([](Graph& g, Value x) { return transpose(g, x, {0, 3, 2, 1}); }, {4, 5, 3});
  expect_equal_values(
      [](Graph& g, Value x) {
        return concat(g, {slice(g, x, -1, 2, 1), pad_channels(g, x, 5), x}, -1);
      },
      {4, 5, 3});
}

// One operand lies with the channels last, as it comes from a dense layer's order.
TEST(OnnxOps, SumsOfImagesInBothOrders) {
  expect_equal_values(
      [](Graph& g, Value x) {
        Value pooled = max_pool2d(g, x, {.kernel = {1, 1}, .stride = {1, 1}});
        Value turned = transpose(g, transpose(g, x, {0, 2, 1, 3}), {0, 2, 1, 3});
        return add(g, mul(g, turned, pooled), add(g, pooled, turned));
      },
      {4, 5, 3});
}

// Rows, and images that lie with the channels first.
TEST(OnnxOps, FunctionsOfOneTensorAndOfTwo) {
  for (Shape row : {Shape{6}, Shape{4, 5, 3}}) {
    expect_equal_values([](Graph& g, Value x) { return sub(g, exp(g, x), scale(g, x, -2, 3)); },
                        row);
    expect_equal_values(
        [](Graph& g, Value x) {
          Value positive = scale(g, square(g, x), 1, 0.5f);
          return div(g, log(g, positive), sqrt(g, positive));
        },
        row);
    expect_equal_values([](Graph& g, Value x) { return abs(g, cast(g, x, DType::f32)); }, row);
  }
}

TEST(OnnxOps, SoftmaxAndSumsOverAnAxis) {
  for (Shape row : {Shape{6}, Shape{4, 6}, Shape{4, 5, 3}}) {
    expect_equal_values([](Graph& g, Value x) { return softmax(g, relu(g, x)); }, row);
    expect_equal_values([](Graph& g, Value x) { return log_softmax(g, x); }, row);
    expect_equal_values([](Graph& g, Value x) { return sum(g, mul(g, x, x), -1); }, row);
    expect_equal_values([](Graph& g, Value x) { return mean(g, x, 1); }, row);
  }
}

TEST(OnnxOps, PaddedFeatures) {
  expect_equal_values([](Graph& g, Value x) { return pad_channels(g, x, 9); }, {4, 5});
}

TEST(OnnxOps, ThatHaveNoEmitterAreNamed) {
  auto body = [](Graph& graph, Value x) {
    Value labels = graph.input("labels", {{graph.spec(x).shape[0]}, DType::i32});
    return graph.emit_op<OneHotOp>({labels}, OneHotAttributes{.classes = 3})[0];
  };
  EXPECT_THAT(message_of(Category::config, [&] { exported(body, {4}); }),
              testing::HasSubstr("[one_hot] has no form in ONNX"));
}

}  // namespace
}  // namespace spire

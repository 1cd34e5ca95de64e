// The pass of precision: exact. It replaces the ops that sum by those whose sums have no order, and
// refuses ops that have no such form.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/base/fail.h"
#include "engine/graph/graph.h"
#include "engine/graph/passes.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/exact_cross_entropy/exact_cross_entropy.h"
#include "kernels/ops/exact_product/exact_product.h"

namespace spire {
namespace {

// Ops that compute each element by itself, or choose or move elements: the same bits for any split
// and on any device as they are. Of mse, l1 and mean_loss that is true of the gradient.
constexpr std::array unsummed = std::to_array<std::string_view>(
    {"affine", "relu", "leaky_relu", "sub", "square", "reshape", "flatten", "dropout", "max_pool2d",
     "one_hot", "mse", "l1", "mean_loss"});

// Names the layer of a node: by its first parameter, else by its block.
std::string place_of(const Graph& graph, const Node& node) {
  std::string layer = layer_name(graph, node);
  if (!layer.empty()) return fmt::format(" of layer '{}'", layer);
  if (node.block < 0) return "";
  return fmt::format(" in '{}'", graph.blocks()[static_cast<size_t>(node.block)]);
}

[[noreturn]] void refuse(const Graph& graph, const Node& node, std::string_view what = "") {
  fail(
      Category::config,
      "precision: exact cannot compute '{}'{}{}; it trains linear, mlp, and cnn with "
      "model.normalization: none: use one of these, or precision: fp32, whose bits are the same on "
      "any devices but not for any split of the batch into towers",
      node.op->name(), place_of(graph, node), what);
}

std::shared_ptr<const Op> exact_dense(const Graph& graph, const Node& node, int64_t global_batch) {
  const auto& dense = static_cast<const DenseOp&>(*node.op).attributes();
  if (graph.spec(node.inputs[0]).shape.rank() != 2) refuse(graph, node, " over sequences");
  require(!dense.relu, "exact ops come before fusion");
  return std::make_shared<ExactProductOp>(
      ExactProductAttributes{.bias = dense.bias, .global_batch = global_batch});
}

std::shared_ptr<const Op> exact_convolution(const Graph& graph, const Node& node,
                                            int64_t global_batch) {
  const auto& conv = static_cast<const Conv2dOp&>(*node.op).attributes();
  if (conv.groups != 1) refuse(graph, node, " with groups");
  require(!conv.relu, "exact ops come before fusion");
  return std::make_shared<ExactProductOp>(ExactProductAttributes{.stride = conv.stride,
                                                                 .padding = conv.padding,
                                                                 .dilation = conv.dilation,
                                                                 .bias = conv.bias,
                                                                 .global_batch = global_batch});
}

// The exact form makes its gradient in an op of its own.
std::shared_ptr<const Op> exact_cross_entropy(const Graph& graph, Node& node) {
  auto loss = static_cast<const SoftmaxCrossEntropyOp&>(*node.op).attributes();
  if (loss.gradient) node.outputs.erase(node.outputs.begin());
  loss.gradient = false;
  node.op = std::make_shared<SoftmaxCrossEntropyOp>(loss);  // which messages name
  if (loss.rows_per_sample != 1 || loss.unlabelled) refuse(graph, node, " over sequences");
  if (loss.z_loss != 0) refuse(graph, node, " with loss.z_loss");
  return std::make_shared<ExactCrossEntropyOp>(loss);
}

}  // namespace

int use_exact_ops(Graph& graph, int64_t global_batch) {
  int replaced = 0;
  for (Node& node : graph.nodes()) {
    std::string_view name = node.op->name();
    if (std::ranges::find(unsummed, name) != unsummed.end()) continue;
    if (name == "dense") {
      node.op = exact_dense(graph, node, global_batch);
    } else if (name == "conv2d") {
      node.op = exact_convolution(graph, node, global_batch);
    } else if (name.starts_with("softmax_cross_entropy")) {
      node.op = exact_cross_entropy(graph, node);
    } else {
      refuse(graph, node);
    }
    ++replaced;
  }
  graph.reindex();
  return replaced;
}

}  // namespace spire

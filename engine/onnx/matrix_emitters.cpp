// Dense layers, and layers over sequences (N, T, C).
#include <cmath>
#include <limits>

#include "engine/onnx/emitters.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire::inline onnx {
namespace {

using Numbers = std::vector<int64_t>;

// Swaps the last two of `rank` axes.
std::string transposed(OnnxBuilder& builder, const std::string& tensor, int rank) {
  Numbers axes;
  for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  std::swap(axes[axes.size() - 2], axes.back());
  return builder.add("Transpose", {tensor}, {{"perm", axes}});
}

// y_i = sum_j softmax_j(q_i . k_j / sqrt(D)) v_j of all heads; q, v (N, H, T, D), k (N, H, D, T).
struct AttentionHeads {
  std::string q, k, v;
};
std::string attend(OnnxBuilder& builder, const AttentionHeads& heads, int64_t width,
                   int64_t causal_length) {
  std::string scores = builder.add("MatMul", {heads.q, heads.k});
  float scale = 1 / std::sqrt(static_cast<float>(width));
  scores = builder.add("Mul", {scores, builder.number(scale)});
  if (causal_length > 0) {
    std::string hidden = builder.number(-std::numeric_limits<float>::infinity());
    scores = builder.add("Where", {builder.causal_mask(causal_length), scores, hidden});
  }
  std::string shares = builder.add("Softmax", {scores}, {{"axis", int64_t{-1}}});
  return builder.add("MatMul", {shares, heads.v});
}

}  // namespace

// Gemm takes matrices only, so rows of sequences go through MatMul.
void emit_dense(OnnxBuilder& builder, const Node& node) {
  Value x = node.inputs[0], y = node.outputs[0];
  const Node* reader = builder.only_reader(y);
  if (reader != nullptr && is_recurrent(*reader)) return emit_recurrent(builder, node, *reader);
  std::string bias = node.inputs.size() > 2 ? builder.plain(node.inputs[2]) : "";
  if (builder.shape(x).rank() == 2) {
    std::vector<std::string> inputs = {builder.plain(x), builder.plain(node.inputs[1])};
    if (!bias.empty()) inputs.push_back(bias);
    builder.define(y, builder.add("Gemm", inputs, {{"transB", int64_t{1}}}));
    return;
  }
  std::string product =
      builder.add("MatMul", {builder.plain(x), builder.transposed_weight(node.inputs[1])});
  builder.define(y, bias.empty() ? product : builder.add("Add", {product, bias}));
}

void emit_matmul(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const MatmulOp&>(*node.op).attributes();
  int rank = builder.shape(node.inputs[0]).rank();
  std::string a = builder.plain(node.inputs[0]), b = builder.plain(node.inputs[1]);
  if (attributes.transpose_a) a = transposed(builder, a, rank);
  if (attributes.transpose_b) b = transposed(builder, b, rank);
  builder.define(node.outputs[0], builder.add("MatMul", {a, b}));
}

void emit_embedding(OnnxBuilder& builder, const Node& node) {
  builder.define(
      node.outputs[0],
      builder.add("Gather", {builder.plain(node.inputs[1]), builder.plain(node.inputs[0])},
                  {{"axis", int64_t{0}}}));
}

void emit_layer_norm(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const LayerNormOp&>(*node.op).attributes();
  std::vector<std::string> inputs;
  for (Value input : node.inputs) inputs.push_back(builder.plain(input));
  builder.define(node.outputs[0],
                 builder.add("LayerNormalization", inputs,
                             {{"axis", int64_t{-1}}, {"epsilon", attributes.epsilon}}));
}

// qkv (N, T, C + 2 K D) -> (N, T, C): the parts are split into heads, which become an axis of their
// own; heads of keys and values that several heads share are repeated.
void emit_attention(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const AttentionOp&>(*node.op).attributes();
  Value y = node.outputs[0];
  PackedHeads packed = packed_heads(attributes, builder.shape(node.inputs[0]));
  OnnxDims whole = builder.dims(y);
  auto split_into = [&](int64_t count) {
    return OnnxDims{whole[0], whole[1], {count}, {packed.size}};
  };
  auto parts = builder.add_many(
      "Split",
      {builder.plain(node.inputs[0]),
       builder.whole_numbers({packed.width(), packed.kv_width(), packed.kv_width()})},
      {{"axis", int64_t{2}}}, 3);
  Numbers shared;  // the head of keys of each head
  for (int64_t head = 0; head < packed.heads; ++head) shared.push_back(head / packed.group());
  auto heads = [&](const std::string& part, int64_t count, const Numbers& axes) {
    OnnxDims from = {whole[0], whole[1], {count * packed.size}};
    std::string tensor =
        builder.add("Reshape", {part, builder.target_shape(split_into(count), from)});
    tensor = builder.add("Transpose", {tensor}, {{"perm", axes}});
    if (count == packed.heads) return tensor;
    return builder.add("Gather", {tensor, builder.whole_numbers(shared)}, {{"axis", int64_t{1}}});
  };
  AttentionHeads inputs = {.q = heads(parts[0], packed.heads, {0, 2, 1, 3}),
                           .k = heads(parts[1], packed.kv_heads, {0, 2, 3, 1}),
                           .v = heads(parts[2], packed.kv_heads, {0, 2, 1, 3})};
  std::string result = attend(builder, inputs, packed.size, attributes.causal ? whole[1].size : 0);
  OnnxDims split = split_into(packed.heads);
  result = builder.add("Transpose", {result}, {{"perm", Numbers{0, 2, 1, 3}}});
  builder.define(y, builder.add("Reshape", {result, builder.target_shape(whole, split)}));
}

}  // namespace spire::inline onnx

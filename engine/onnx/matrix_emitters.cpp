// Dense layers, and layers over sequences (N, T, C): attention, rotary positions, gates.
#include <cmath>
#include <limits>
#include <utility>

#include "engine/base/fail.h"
#include "engine/onnx/emitters.h"
#include "kernels/ops/attention/attention.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/recurrent/recurrent.h"
#include "kernels/ops/rope/rope.h"

namespace spire {
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

// Cosines or sines of all positions and pairs, (T, 1, D / 2): the same for all heads.
std::string angles(OnnxBuilder& builder, const RopeAttributes& attributes, int64_t length,
                   bool sines) {
  int64_t half = attributes.size / 2;
  std::vector<float> table;
  RopeAngles all(attributes);
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < half; ++i)
      table.push_back(sines ? all.at(t, i).sine : all.at(t, i).cosine);
  std::string name =
      fmt::format("{}[{},{},{}{}]", sines ? "rope_sines" : "rope_cosines", length, attributes.size,
                  attributes.theta, attributes.inverse ? ",inverse" : "");
  return builder.numbers(name, {length, 1, half}, table);
}

std::pair<std::string, std::string> halves(OnnxBuilder& builder, const std::string& tensor,
                                           int64_t half, int64_t axis) {
  auto parts =
      builder.add_many("Split", {tensor, builder.whole_numbers({half, half})}, {{"axis", axis}}, 2);
  return {parts[0], parts[1]};
}

// heads (N, T, H, D): the pair (a, b) becomes (a cos - b sin, b cos + a sin).
std::string turned(OnnxBuilder& builder, const std::string& heads, const RopeAttributes& attributes,
                   int64_t length) {
  auto [a, b] = halves(builder, heads, attributes.size / 2, 3);
  std::string cosines = angles(builder, attributes, length, false);
  std::string sines = angles(builder, attributes, length, true);
  auto times = [&](const std::string& x, const std::string& y) {
    return builder.add("Mul", {x, y});
  };
  std::string first = builder.add("Sub", {times(a, cosines), times(b, sines)});
  std::string second = builder.add("Add", {times(b, cosines), times(a, sines)});
  return builder.add("Concat", {first, second}, {{"axis", int64_t{3}}});
}

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

// The heads become an axis of their own; the columns behind them are split off before.
void emit_rope(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const RopeOp&>(*node.op).attributes();
  require(!attributes.positioned, "rows with positions of their own in an inference graph");
  OnnxDims whole = builder.dims(node.outputs[0]), heads = whole, split = whole;
  int64_t columns = attributes.heads * attributes.size, rest = whole[2].size - columns;
  std::string x = builder.plain(node.inputs[0]), behind;
  if (rest > 0) {
    auto parts = builder.add_many("Split", {x, builder.whole_numbers({columns, rest})},
                                  {{"axis", int64_t{2}}}, 2);
    x = parts[0];
    behind = parts[1];
  }
  heads[2] = {columns};
  split[2] = {attributes.heads};
  split.push_back({attributes.size});
  x = builder.add("Reshape", {x, builder.target_shape(split, heads)});
  x = turned(builder, x, attributes, whole[1].size);
  x = builder.add("Reshape", {x, builder.target_shape(heads, split)});
  if (rest > 0) x = builder.add("Concat", {x, behind}, {{"axis", int64_t{2}}});
  builder.define(node.outputs[0], x);
}

void emit_swiglu(OnnxBuilder& builder, const Node& node) {
  const Shape& shape = builder.shape(node.inputs[0]);
  int64_t axis = shape.rank() - 1;
  auto [gates, values] = halves(builder, builder.plain(node.inputs[0]), shape.back() / 2, axis);
  builder.define(node.outputs[0], builder.add("Mul", {silu_of(builder, gates), values}));
}

constexpr OnnxEmitter matrix_table[] = {
    {"dense", emit_dense},         {"matmul", emit_matmul}, {"embedding", emit_embedding},
    {"attention", emit_attention}, {"rope", emit_rope},     {"swiglu", emit_swiglu},
};

}  // namespace

std::span<const OnnxEmitter> matrix_emitters() {
  return matrix_table;
}

// LSTM and GRU: the product of the inputs and the steps behind it are one node of ONNX.

namespace {

// Spire's gates in ONNX's order: i, o, f, g of an LSTM, and z, r, n of a GRU.
std::vector<size_t> order_of_gates(RecurrentCell cell) {
  return cell == RecurrentCell::lstm ? std::vector<size_t>{0, 3, 1, 2}
                                     : std::vector<size_t>{1, 0, 2};
}

// The rows of a parameter (G H, ..), gate by gate in ONNX's order.
std::string ordered(OnnxBuilder& builder, Value parameter, RecurrentCell cell) {
  int64_t gates = gates_of(cell), units = builder.shape(parameter)[0] / gates;
  std::vector<int64_t> lengths(static_cast<size_t>(gates), units);
  auto parts = builder.add_many("Split", {builder.plain(parameter), builder.whole_numbers(lengths)},
                                {{"axis", int64_t{0}}}, lengths.size());
  std::vector<std::string> placed;
  for (size_t gate : order_of_gates(cell)) placed.push_back(parts[gate]);
  return builder.add("Concat", placed, {{"axis", int64_t{0}}});
}

// A matrix for the one direction of a layer.
std::string for_one_direction(OnnxBuilder& builder, Value matrix, RecurrentCell cell) {
  const Shape& shape = builder.shape(matrix);
  return builder.add(
      "Reshape", {ordered(builder, matrix, cell), builder.whole_numbers({1, shape[0], shape[1]})});
}

}  // namespace

bool is_recurrent(const Node& node) {
  return node.op->name() == "lstm" || node.op->name() == "gru";
}

// ONNX's sequences are (T, N, F), its states (T, directions, N, H).
void emit_recurrent(OnnxBuilder& builder, const Node& product, const Node& steps) {
  RecurrentCell cell = static_cast<const RecurrentOp&>(*steps.op).attributes().cell;
  Value y = steps.outputs[0];
  int64_t rows = builder.shape(product.inputs[1])[0], units = builder.shape(y)[2];
  std::string x = builder.by_step(product.inputs[0]);
  std::string biases = builder.add(
      "Concat",
      {ordered(builder, product.inputs[2], cell), ordered(builder, steps.inputs[2], cell)},
      {{"axis", int64_t{0}}});
  std::vector<std::string> inputs = {
      x, for_one_direction(builder, product.inputs[1], cell),
      for_one_direction(builder, steps.inputs[1], cell),
      builder.add("Reshape", {biases, builder.whole_numbers({1, 2 * rows})})};
  std::vector<OnnxAttribute> attributes = {{"hidden_size", units}};
  if (cell == RecurrentCell::gru) attributes.push_back({"linear_before_reset", int64_t{1}});
  std::string states =
      builder.add(cell == RecurrentCell::lstm ? "LSTM" : "GRU", inputs, attributes);
  OnnxDims whole = builder.dims(y), by_step = {whole[1], whole[0], whole[2]};
  OnnxDims made = {whole[1], {1}, whole[0], whole[2]};
  builder.define_by_step(y, builder.add("Reshape", {states, builder.target_shape(by_step, made)}));
}

}  // namespace spire

// What Llama's layers have beside those of other transformers: RMS norms, rotary positions, gates.
#include <spire/error.h>

#include "engine/onnx/emitters.h"
#include "kernels/ops/rope/rope.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire::inline onnx {
namespace {

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

}  // namespace

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

void emit_rms_norm(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const RmsNormOp&>(*node.op).attributes();
  std::string x = builder.plain(node.inputs[0]);
  int64_t last = builder.shape(node.inputs[0]).rank() - 1;
  std::string mean =
      builder.add("ReduceMean", {builder.add("Mul", {x, x}), builder.whole_numbers({last})},
                  {{"keepdims", int64_t{1}}});
  std::string root =
      builder.add("Sqrt", {builder.add("Add", {mean, builder.number(attributes.epsilon)})});
  std::string y =
      builder.add("Mul", {builder.add("Div", {x, root}), builder.plain(node.inputs[1])});
  builder.define(node.outputs[0], y);
}

void emit_swiglu(OnnxBuilder& builder, const Node& node) {
  const Shape& shape = builder.shape(node.inputs[0]);
  int64_t axis = shape.rank() - 1;
  auto [gates, values] = halves(builder, builder.plain(node.inputs[0]), shape.back() / 2, axis);
  builder.define(node.outputs[0], builder.add("Mul", {silu_of(builder, gates), values}));
}

}  // namespace spire::inline onnx

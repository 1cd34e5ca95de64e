// Normalization of layers, of groups, whose form in ONNX is younger than the oldest opset, and by
// the root of squares.
#include "engine/onnx/emitters.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire {
namespace {

// The mean over the last axis of x (N, G, M), as (N, G, 1).
std::string group_mean(OnnxBuilder& builder, const std::string& x, const OnnxDims& groups) {
  std::string mean =
      builder.add("ReduceMean", {x, builder.whole_numbers({2})}, {{"keepdims", int64_t{0}}});
  OnnxDims flat = {groups[0], groups[1]};
  return builder.add("Reshape", {mean, builder.target_shape({groups[0], groups[1], {1}}, flat)});
}

void emit_layer_norm(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const LayerNormOp&>(*node.op).attributes();
  std::vector<std::string> inputs;
  for (Value input : node.inputs) inputs.push_back(builder.plain(input));
  builder.define(node.outputs[0],
                 builder.add("LayerNormalization", inputs,
                             {{"axis", int64_t{-1}}, {"epsilon", attributes.epsilon}}));
}

// (N, .., C) -> (N, P, G, C / G) -> (N, G, P C / G), and back behind the norm.
void emit_group_norm(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const GroupNormOp&>(*node.op).attributes();
  Value x = node.inputs[0], y = node.outputs[0];
  OnnxDims whole = builder.dims(x);
  int64_t channels = whole.back().size, own = channels / attributes.groups, positions = 1;
  for (size_t axis = 1; axis + 1 < whole.size(); ++axis) positions *= whole[axis].size;
  OnnxDims split = {whole[0], {positions}, {attributes.groups}, {own}};
  OnnxDims grouped = {whole[0], {attributes.groups}, {positions}, {own}};
  OnnxDims rows = {whole[0], {attributes.groups}, {positions * own}};
  auto reshape = [&](const std::string& tensor, const OnnxDims& to, const OnnxDims& from) {
    return builder.add("Reshape", {tensor, builder.target_shape(to, from)});
  };
  const std::vector<int64_t> swapped = {0, 2, 1, 3};
  std::string t = reshape(builder.plain(x), split, whole);
  t = reshape(builder.add("Transpose", {t}, {{"perm", swapped}}), rows, grouped);
  t = builder.add("Sub", {t, group_mean(builder, t, rows)});
  std::string variance = group_mean(builder, builder.add("Mul", {t, t}), rows);
  variance = builder.add("Add", {variance, builder.number(attributes.epsilon)});
  t = builder.add("Div", {t, builder.add("Sqrt", {variance})});
  t = builder.add("Transpose", {reshape(t, grouped, rows)}, {{"perm", swapped}});
  t = builder.add("Mul", {reshape(t, whole, split), builder.plain(node.inputs[1])});
  builder.define(y, builder.add("Add", {t, builder.plain(node.inputs[2])}));
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

constexpr OnnxEmitter norm_table[] = {
    {"layer_norm", emit_layer_norm},
    {"rms_norm", emit_rms_norm},
    {"group_norm", emit_group_norm},
};

}  // namespace

std::span<const OnnxEmitter> norm_emitters() {
  return norm_table;
}

}  // namespace spire

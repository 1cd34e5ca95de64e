// Convolution, normalization (that of groups has a form in ONNX that is younger than the oldest
// opset), pooling and resizing. Weights keep Spire's shapes, which are
// ONNX's: (O, I / groups, KH, KW), of a transposed convolution (I, O / groups, KH, KW).
#include "engine/base/fail.h"
#include "engine/onnx/emitters.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/group_norm/group_norm.h"
#include "kernels/ops/pool2d/pool2d.h"
#include "kernels/ops/resize/resize.h"
#include "kernels/ops/row_norm/row_norm.h"

namespace spire {
namespace {

using Numbers = std::vector<int64_t>;

Numbers numbers(Extent2d extent) {
  return {extent.h, extent.w};
}

// Padding at the beginnings of both axes, then at their ends.
Numbers pads(Extent2d padding) {
  return {padding.h, padding.w, padding.h, padding.w};
}

std::vector<OnnxAttribute> window_attributes(const Window& window) {
  return {{"kernel_shape", numbers(window.kernel)},
          {"strides", numbers(window.stride)},
          {"pads", pads(window.padding)}};
}

// Those of Conv and ConvTranspose; both ops' attributes have these members.
template <typename Attributes>
std::vector<OnnxAttribute> conv_attributes(const Attributes& attributes, const Shape& weight) {
  return {{"kernel_shape", Numbers{weight[2], weight[3]}},
          {"strides", numbers(attributes.stride)},
          {"pads", pads(attributes.padding)},
          {"dilations", numbers(attributes.dilation)},
          {"group", attributes.groups}};
}

void emit_conv2d(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const Conv2dOp&>(*node.op).attributes();
  require(!attributes.relu, "a fused conv2d in an inference graph");
  std::vector<std::string> inputs = {builder.channels_first(node.inputs[0])};
  for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(builder.plain(node.inputs[i]));
  builder.define(
      node.outputs[0],
      builder.add("Conv", inputs, conv_attributes(attributes, builder.shape(node.inputs[1]))),
      Channels::first);
}

// In Spire the bias is an op of its own; ConvTranspose takes it as an input.
void emit_conv_transpose2d(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const ConvTranspose2dOp&>(*node.op).attributes();
  std::vector<std::string> inputs = {builder.channels_first(node.inputs[0]),
                                     builder.plain(node.inputs[1])};
  Value output = node.outputs[0];
  const Node* reader = builder.only_reader(output);
  if (reader != nullptr && reader->op->name() == "bias" && reader->inputs[0] == output) {
    inputs.push_back(builder.plain(reader->inputs[1]));
    output = reader->outputs[0];
  }
  auto list = conv_attributes(attributes, builder.shape(node.inputs[1]));
  list.push_back({"output_padding", numbers(attributes.output_padding)});
  builder.define(output, builder.add("ConvTranspose", inputs, list), Channels::first);
}

void emit_batch_norm(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const BatchNormEvalOp&>(*node.op).attributes();
  require(!attributes.relu && !attributes.residual, "a fused batch_norm in an inference graph");
  Value x = node.inputs[0];
  bool places = builder.shape(x).rank() > 2;
  std::vector<std::string> inputs = {places ? builder.channels_first(x) : builder.plain(x)};
  for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(builder.plain(node.inputs[i]));
  builder.define(node.outputs[0],
                 builder.add("BatchNormalization", inputs, {{"epsilon", attributes.epsilon}}),
                 places ? Channels::first : Channels::last);
}

void emit_max_pool2d(OnnxBuilder& builder, const Node& node) {
  Window window = static_cast<const MaxPool2dOp&>(*node.op).attributes().window();
  builder.define(
      node.outputs[0],
      builder.add("MaxPool", {builder.channels_first(node.inputs[0])}, window_attributes(window)),
      Channels::first);
}

void emit_avg_pool2d(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const AvgPool2dOp&>(*node.op).attributes();
  auto list = window_attributes(attributes.window());
  list.push_back({"count_include_pad", int64_t{attributes.count_include_pad ? 1 : 0}});
  builder.define(node.outputs[0],
                 builder.add("AveragePool", {builder.channels_first(node.inputs[0])}, list),
                 Channels::first);
}

// GlobalAveragePool leaves two axes of length 1.
void emit_global_avg_pool(OnnxBuilder& builder, const Node& node) {
  std::string pooled = builder.add("GlobalAveragePool", {builder.channels_first(node.inputs[0])});
  builder.define(node.outputs[0], builder.add("Flatten", {pooled}, {{"axis", int64_t{1}}}));
}

// nearest: row floor(i H / OH), which is ONNX's asymmetric. bilinear: by the middles of pixels.
void emit_resize(OnnxBuilder& builder, const Node& node) {
  bool nearest = static_cast<const ResizeOp&>(*node.op).attributes().kind == Resize::nearest;
  const Shape& to = builder.shape(node.outputs[0]);
  std::vector<OnnxAttribute> list = {
      {"mode", std::string(nearest ? "nearest" : "linear")},
      {"coordinate_transformation_mode", std::string(nearest ? "asymmetric" : "half_pixel")},
      {"axes", Numbers{2, 3}}};
  if (nearest) list.push_back({"nearest_mode", std::string("floor")});
  builder.define(node.outputs[0],
                 builder.add("Resize",
                             {builder.channels_first(node.inputs[0]), "", "",
                              builder.whole_numbers({to[1], to[2]})},
                             list),
                 Channels::first);
}

// Pad takes the numbers of elements before each axis, then those behind each axis.
void emit_pad_channels(OnnxBuilder& builder, const Node& node) {
  Value x = node.inputs[0];
  auto rank = static_cast<size_t>(builder.shape(x).rank());
  bool first = builder.is_channels_first(x);
  Numbers counts(2 * rank, 0);
  counts[first ? rank + 1 : 2 * rank - 1] =
      builder.shape(node.outputs[0]).back() - builder.shape(x).back();
  std::string tensor = first ? builder.channels_first(x) : builder.plain(x);
  builder.define(node.outputs[0], builder.add("Pad", {tensor, builder.whole_numbers(counts)}),
                 first ? Channels::first : Channels::last);
}

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
  const Numbers swapped = {0, 2, 1, 3};
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

constexpr OnnxEmitter image_table[] = {
    {"conv2d", emit_conv2d},
    {"conv_transpose2d", emit_conv_transpose2d},
    {"batch_norm_eval", emit_batch_norm},
    {"layer_norm", emit_layer_norm},
    {"rms_norm", emit_rms_norm},
    {"group_norm", emit_group_norm},
    {"max_pool2d", emit_max_pool2d},
    {"avg_pool2d", emit_avg_pool2d},
    {"global_avg_pool", emit_global_avg_pool},
    {"resize", emit_resize},
    {"pad_channels", emit_pad_channels},
};

}  // namespace

std::span<const OnnxEmitter> image_emitters() {
  return image_table;
}

}  // namespace spire

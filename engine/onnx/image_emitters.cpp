// Convolution, batch normalization, pooling and resizing. Weights keep Spire's shapes, which are
// ONNX's: (O, I / groups, KH, KW), of a transposed convolution (I, O / groups, KH, KW).
#include <spire/error.h>

#include "engine/onnx/emitters.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/pool2d/pool2d.h"
#include "kernels/ops/resize/resize.h"

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
  bool nearest = static_cast<const ResizeOp&>(*node.op).kind() == Resize::nearest;
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

constexpr OnnxEmitter image_table[] = {
    {"conv2d", emit_conv2d},
    {"conv_transpose2d", emit_conv_transpose2d},
    {"batch_norm_eval", emit_batch_norm},
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

// Functions of one tensor, sums, differences, products and quotients, softmax and sums over an
// axis; and ops that only move elements.
#include <cmath>
#include <numbers>

#include "engine/base/fail.h"
#include "engine/onnx/emitters.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire {
namespace {

constexpr int64_t first_opset_with_gelu = 20;

// x (1 + erf(x / sqrt(2))) / 2
std::string gelu_by_erf(OnnxBuilder& builder, const std::string& x) {
  auto root = static_cast<float>(1 / std::numbers::sqrt2);
  std::string y = builder.add("Mul", {x, builder.number(root)});
  y = builder.add("Add", {builder.add("Erf", {y}), builder.number(1)});
  y = builder.add("Mul", {x, y});
  return builder.add("Mul", {y, builder.number(0.5f)});
}

// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
std::string gelu_by_tanh(OnnxBuilder& builder, const std::string& x) {
  auto factor = static_cast<float>(std::sqrt(2 / std::numbers::pi));
  std::string y = builder.add("Pow", {x, builder.number(3)});
  y = builder.add("Mul", {y, builder.number(0.044715f)});
  y = builder.add("Mul", {builder.add("Add", {x, y}), builder.number(factor)});
  y = builder.add("Add", {builder.add("Tanh", {y}), builder.number(1)});
  y = builder.add("Mul", {x, y});
  return builder.add("Mul", {y, builder.number(0.5f)});
}

std::string gelu(OnnxBuilder& builder, const std::string& x, bool tanh_form) {
  if (builder.opset() >= first_opset_with_gelu)
    return builder.add("Gelu", {x}, {{"approximate", std::string(tanh_form ? "tanh" : "none")}});
  return tanh_form ? gelu_by_tanh(builder, x) : gelu_by_erf(builder, x);
}

std::string activation(OnnxBuilder& builder, const ActivationAttributes& attributes,
                       const std::string& x) {
  switch (attributes.kind) {
    case Activation::relu:
      return builder.add("Relu", {x});
    case Activation::leaky_relu:
      return builder.add("LeakyRelu", {x}, {{"alpha", attributes.slope}});
    case Activation::gelu:
      return gelu(builder, x, false);
    case Activation::gelu_tanh:
      return gelu(builder, x, true);
    case Activation::silu:
      return silu_of(builder, x);
    case Activation::sigmoid:
      return builder.add("Sigmoid", {x});
    case Activation::tanh:
      return builder.add("Tanh", {x});
    case Activation::affine:
      return builder.add("Add", {builder.add("Mul", {x, builder.number(attributes.factor)}),
                                 builder.number(attributes.offset)});
    case Activation::exp:
      return builder.add("Exp", {x});
    case Activation::log:
      return builder.add("Log", {x});
    case Activation::square:
      return builder.add("Mul", {x, x});
    case Activation::sqrt:
      return builder.add("Sqrt", {x});
    case Activation::abs:
      return builder.add("Abs", {x});
  }
  fail(Category::unexpected, "unknown activation");
}

void emit_binary(OnnxBuilder& builder, const Node& node, const char* op) {
  auto [a, b] = builder.same_form(node.inputs[0], node.inputs[1]);
  builder.define_as(node.outputs[0], builder.add(op, {a, b}), node.inputs[0]);
}

void emit_activation(OnnxBuilder& builder, const Node& node) {
  const auto& attributes = static_cast<const ActivationOp&>(*node.op).attributes();
  std::string y = activation(builder, attributes, builder.any_form(node.inputs[0]));
  builder.define_as(node.outputs[0], y, node.inputs[0]);
}

void emit_add(OnnxBuilder& builder, const Node& node) {
  require(!static_cast<const AddOp&>(*node.op).relu(), "a fused add in an inference graph");
  emit_binary(builder, node, "Add");
}

// All tensors are fp32 here.
void emit_cast(OnnxBuilder& builder, const Node& node) {
  builder.define_view(node.outputs[0], node.inputs[0]);
}

// Positions are a bias over the T C numbers of a sample; here they stay rows of a table.
void emit_bias(OnnxBuilder& builder, const Node& node) {
  Value x = node.inputs[0], b = node.inputs[1];
  if (auto tensors = builder.unshaped(x, b)) {
    builder.define_as(node.outputs[0], builder.add("Add", {tensors->first, tensors->second}), x);
  } else {
    builder.define(node.outputs[0], builder.add("Add", {builder.plain(x), builder.plain(b)}));
  }
}

void emit_softmax(OnnxBuilder& builder, const Node& node) {
  bool logarithm = static_cast<const SoftmaxOp&>(*node.op).attributes().logarithm;
  builder.define(node.outputs[0],
                 builder.add(logarithm ? "LogSoftmax" : "Softmax", {builder.plain(node.inputs[0])},
                             {{"axis", int64_t{-1}}}));
}

void emit_reduce(OnnxBuilder& builder, const Node& node) {
  const ReduceAttributes& attributes = static_cast<const ReduceOp&>(*node.op).attributes();
  std::string x = builder.plain(node.inputs[0]), axes = builder.whole_numbers({attributes.axis});
  builder.define(node.outputs[0], builder.add(attributes.mean ? "ReduceMean" : "ReduceSum",
                                              {x, axes}, {{"keepdims", int64_t{0}}}));
}

// The place of an axis where the channels, Spire's last axis, are first.
int64_t axis_in(Channels order, int axis, int rank) {
  if (order == Channels::last || axis == 0) return axis;
  return axis == rank - 1 ? 1 : axis + 1;
}

std::string tensor_in(OnnxBuilder& builder, Value value, Channels order) {
  return order == Channels::first ? builder.channels_first(value) : builder.plain(value);
}

void emit_view(OnnxBuilder& builder, const Node& node) {
  builder.define_view(node.outputs[0], node.inputs[0]);
}

void emit_transpose(OnnxBuilder& builder, const Node& node) {
  const auto& axes = static_cast<const TransposeOp&>(*node.op).axes();
  std::vector<int64_t> order(axes.begin(), axes.end());
  builder.define(node.outputs[0],
                 builder.add("Transpose", {builder.plain(node.inputs[0])}, {{"perm", order}}));
}

void emit_concat(OnnxBuilder& builder, const Node& node) {
  const TensorSpec& spec = builder.graph().spec(node.outputs[0]);
  Channels order = Channels::last;
  for (Value input : node.inputs)
    if (builder.is_channels_first(input)) order = Channels::first;
  int axis = static_cast<const ConcatOp&>(*node.op).axis_of(spec);
  std::vector<std::string> parts;
  for (Value input : node.inputs) parts.push_back(tensor_in(builder, input, order));
  builder.define(node.outputs[0],
                 builder.add("Concat", parts, {{"axis", axis_in(order, axis, spec.shape.rank())}}),
                 order);
}

void emit_slice(OnnxBuilder& builder, const Node& node) {
  const auto& slice = static_cast<const SliceOp&>(*node.op).attributes();
  Value x = node.inputs[0];
  if (builder.shape(x) == builder.shape(node.outputs[0])) {  // all of it
    builder.define_view(node.outputs[0], x);
    return;
  }
  Channels order = builder.is_channels_first(x) ? Channels::first : Channels::last;
  int64_t end = slice.begin + builder.shape(node.outputs[0])[slice.axis];
  int64_t axis = axis_in(order, slice.axis, builder.shape(x).rank());
  builder.define(
      node.outputs[0],
      builder.add("Slice", {tensor_in(builder, x, order), builder.whole_numbers({slice.begin}),
                            builder.whole_numbers({end}), builder.whole_numbers({axis})}),
      order);
}

void emit_gather(OnnxBuilder& builder, const Node& node) {
  int64_t axis = static_cast<const GatherOp&>(*node.op).axis();
  builder.define(
      node.outputs[0],
      builder.add("Gather", {builder.plain(node.inputs[0]), builder.plain(node.inputs[1])},
                  {{"axis", axis}}));
}

// Expand takes the whole shape; the number of samples in it is that of the model's input.
void emit_expand(OnnxBuilder& builder, const Node& node) {
  std::string shape = builder.shape_tensor(builder.dims(node.outputs[0]));
  builder.define(node.outputs[0], builder.add("Expand", {builder.plain(node.inputs[0]), shape}));
}

constexpr OnnxEmitter element_table[] = {
    {"relu", emit_activation},
    {"leaky_relu", emit_activation},
    {"gelu", emit_activation},
    {"gelu_tanh", emit_activation},
    {"silu", emit_activation},
    {"sigmoid", emit_activation},
    {"tanh", emit_activation},
    {"affine", emit_activation},
    {"exp", emit_activation},
    {"log", emit_activation},
    {"square", emit_activation},
    {"sqrt", emit_activation},
    {"abs", emit_activation},
    {"add", emit_add},
    {"mul", [](OnnxBuilder& builder, const Node& node) { emit_binary(builder, node, "Mul"); }},
    {"sub", [](OnnxBuilder& builder, const Node& node) { emit_binary(builder, node, "Sub"); }},
    {"div", [](OnnxBuilder& builder, const Node& node) { emit_binary(builder, node, "Div"); }},
    {"cast", emit_cast},
    {"bias", emit_bias},
    {"softmax", emit_softmax},
    {"log_softmax", emit_softmax},
    {"sum", emit_reduce},
    {"mean", emit_reduce},
    {"reshape", emit_view},
    {"flatten", emit_view},
    {"transpose", emit_transpose},
    {"concat", emit_concat},
    {"slice", emit_slice},
    {"gather", emit_gather},
    {"expand", emit_expand},
};

}  // namespace

std::string silu_of(OnnxBuilder& builder, const std::string& x) {
  return builder.add("Mul", {x, builder.add("Sigmoid", {x})});
}

std::span<const OnnxEmitter> element_emitters() {
  return element_table;
}

}  // namespace spire

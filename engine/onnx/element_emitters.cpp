// Functions of one tensor, sums, differences, products and quotients.
#include <cmath>
#include <numbers>

#include <spire/error.h>

#include "engine/onnx/emitters.h"
#include "kernels/ops/activation/activation.h"
#include "kernels/ops/binary/binary.h"

namespace spire::inline onnx {
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

}  // namespace

std::string silu_of(OnnxBuilder& builder, const std::string& x) {
  return builder.add("Mul", {x, builder.add("Sigmoid", {x})});
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

void emit_mul(OnnxBuilder& builder, const Node& node) {
  emit_binary(builder, node, "Mul");
}

void emit_sub(OnnxBuilder& builder, const Node& node) {
  emit_binary(builder, node, "Sub");
}

void emit_div(OnnxBuilder& builder, const Node& node) {
  emit_binary(builder, node, "Div");
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

}  // namespace spire::inline onnx

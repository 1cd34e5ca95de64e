// Layer functions of single elements.
#include <spire/layers.h>

#include "kernels/ops/elementwise/elementwise.h"
#include "kernels/ops/swiglu/swiglu.h"

namespace spire {
namespace {

Value activation(Graph& graph, Value x, Activation kind) {
  return graph.emit_op<ActivationOp>({x}, ActivationAttributes{.kind = kind})[0];
}

}  // namespace

Value relu(Graph& graph, Value x) {
  return activation(graph, x, Activation::relu);
}
Value leaky_relu(Graph& graph, Value x, float slope) {
  ActivationAttributes leaky{.kind = Activation::leaky_relu, .slope = slope};
  return graph.emit_op<ActivationOp>({x}, leaky)[0];
}
Value gelu(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu);
}
Value gelu_tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu_tanh);
}
Value silu(Graph& graph, Value x) {
  return activation(graph, x, Activation::silu);
}
Value swiglu(Graph& graph, Value x) {
  return graph.emit_op<SwigluOp>({x})[0];
}
Value sigmoid(Graph& graph, Value x) {
  return activation(graph, x, Activation::sigmoid);
}
Value tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::tanh);
}

Value add(Graph& graph, Value a, Value b) {
  return graph.emit_op<AddOp>({a, b})[0];
}

Value mul(Graph& graph, Value a, Value b) {
  return graph.emit_op<MulOp>({a, b})[0];
}

Value sub(Graph& graph, Value a, Value b) {
  return graph.emit_op<SubOp>({a, b})[0];
}

Value div(Graph& graph, Value a, Value b) {
  return graph.emit_op<DivOp>({a, b})[0];
}

Value scale(Graph& graph, Value x, float factor, float offset) {
  ActivationAttributes affine{.kind = Activation::affine, .factor = factor, .offset = offset};
  return graph.emit_op<ActivationOp>({x}, affine)[0];
}

Value exp(Graph& graph, Value x) {
  return activation(graph, x, Activation::exp);
}
Value log(Graph& graph, Value x) {
  return activation(graph, x, Activation::log);
}
Value square(Graph& graph, Value x) {
  return activation(graph, x, Activation::square);
}
Value sqrt(Graph& graph, Value x) {
  return activation(graph, x, Activation::sqrt);
}
Value abs(Graph& graph, Value x) {
  return activation(graph, x, Activation::abs);
}

Value cast(Graph& graph, Value x, DType dtype) {
  if (graph.spec(x).dtype == dtype) return x;
  return graph.emit_op<CastOp>({x}, dtype)[0];
}

}  // namespace spire

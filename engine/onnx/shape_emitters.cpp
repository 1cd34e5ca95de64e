// Ops that only move elements.
#include "engine/onnx/emitters.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire::inline onnx {
namespace {

// The place of an axis where the channels, Spire's last axis, are first.
int64_t axis_in(Channels order, int axis, int rank) {
  if (order == Channels::last || axis == 0) return axis;
  return axis == rank - 1 ? 1 : axis + 1;
}

std::string tensor_in(OnnxBuilder& builder, Value value, Channels order) {
  return order == Channels::first ? builder.channels_first(value) : builder.plain(value);
}

}  // namespace

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
  const auto& op = static_cast<const SliceOp&>(*node.op);
  Value x = node.inputs[0];
  if (builder.shape(x) == builder.shape(node.outputs[0])) {  // all of it
    builder.define_view(node.outputs[0], x);
    return;
  }
  Channels order = builder.is_channels_first(x) ? Channels::first : Channels::last;
  int64_t end = op.begin() + builder.shape(node.outputs[0])[op.axis()];
  int64_t axis = axis_in(order, op.axis(), builder.shape(x).rank());
  builder.define(
      node.outputs[0],
      builder.add("Slice", {tensor_in(builder, x, order), builder.whole_numbers({op.begin()}),
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

}  // namespace spire::inline onnx

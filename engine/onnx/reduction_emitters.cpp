// Softmax and sums over an axis.
#include "engine/onnx/emitters.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/softmax/softmax.h"

namespace spire::inline onnx {

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

}  // namespace spire::inline onnx

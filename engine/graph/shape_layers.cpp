// Layers that move elements and compute nothing.
#include "engine/graph/layers.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/expand/expand.h"
#include "kernels/ops/gather/gather.h"
#include "kernels/ops/reshape/reshape.h"
#include "kernels/ops/transpose/transpose.h"

namespace spire::inline graph {

namespace {

int counted_from_first(const Graph& graph, Value x, int axis) {
  return axis < 0 ? axis + graph.spec(x).shape.rank() : axis;
}

}  // namespace

Value concat(Graph& graph, const std::vector<Value>& parts, int axis) {
  return graph.emit_op<ConcatOp>(parts, axis)[0];
}

Value reshape(Graph& graph, Value x, Shape shape) {
  return graph.emit_op<ReshapeOp>({x}, shape)[0];
}

Value flatten(Graph& graph, Value x) {
  return graph.emit_op<FlattenOp>({x})[0];
}

Value transpose(Graph& graph, Value x, std::vector<int> axes) {
  return graph.emit_op<TransposeOp>({x}, std::move(axes))[0];
}

Value slice(Graph& graph, Value x, int axis, int64_t begin, int64_t length) {
  return graph.emit_op<SliceOp>({x}, counted_from_first(graph, x, axis), begin, length)[0];
}

Value gather(Graph& graph, Value x, Value indices, int axis) {
  return graph.emit_op<GatherOp>({x, indices}, counted_from_first(graph, x, axis))[0];
}

Value expand(Graph& graph, Value x, int64_t count, DType dtype) {
  return graph.emit_op<ExpandOp>({x}, ExpandAttributes{.count = count, .dtype = dtype})[0];
}

}  // namespace spire::inline graph

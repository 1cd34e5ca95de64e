// Layers that move elements and compute nothing.
#include <spire/graph/layers.h>
#include <spire/kernels/concat.h>
#include <spire/kernels/expand.h>
#include <spire/kernels/gather.h>
#include <spire/kernels/reshape.h>
#include <spire/kernels/transpose.h>

namespace spire {

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

}  // namespace spire

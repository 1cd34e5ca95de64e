// Layer functions that reduce, and with which losses and scores are composed.
#include <spire/error.h>
#include <spire/layers.h>

#include "kernels/ops/mean_loss/mean_loss.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/softmax/softmax.h"

namespace spire::inline graph {
namespace {

Value reduce(Graph& graph, Value x, int axis, bool mean) {
  int rank = graph.spec(x).shape.rank();
  // An axis that is not there stays as it is, for the message.
  if (axis < 0 && axis >= -rank) axis += rank;
  return graph.emit_op<ReduceOp>({x}, ReduceAttributes{.axis = axis, .mean = mean})[0];
}

void mark_once(Graph& graph, const std::string& name, Value value) {
  if (graph.outputs().contains(name))
    fail(Category::config, "the graph has a {} already; add up its terms and mark their sum", name);
  graph.mark_output(name, value);
}

}  // namespace

Value softmax(Graph& graph, Value x) {
  return graph.emit_op<SoftmaxOp>({x})[0];
}

Value log_softmax(Graph& graph, Value x) {
  return graph.emit_op<SoftmaxOp>({x}, SoftmaxAttributes{.logarithm = true})[0];
}

Value sum(Graph& graph, Value x, int axis) {
  return reduce(graph, x, axis, false);
}

Value mean(Graph& graph, Value x, int axis) {
  return reduce(graph, x, axis, true);
}

Value mean_loss(Graph& graph, Value x) {
  return graph.emit_op<MeanLossOp>({x})[0];
}

void add_mean_loss(Graph& graph, Value x) {
  Value loss = mean_loss(graph, x);
  mark_once(graph, "loss", loss);
  graph.add_loss(loss);
}

void mark_score(Graph& graph, Value x) {
  mark_once(graph, "score", mean_loss(graph, x));
}

}  // namespace spire::inline graph

// Appends losses and scores to a training graph.
#include <spire/error.h>
#include <spire/layers.h>

#include "kernels/ops/distillation/distillation.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire::inline graph {
namespace {

// Compares with the one-hot label; "score" counts correct answers, as for cross entropy.
void regression_loss(Graph& graph, Value logits, Value labels, Regression kind) {
  const TensorSpec& spec = graph.spec(logits);
  OneHotAttributes attributes{.classes = spec.shape.back(), .dtype = spec.dtype};
  Value target = graph.emit_op<OneHotOp>({labels}, attributes)[0];
  Value loss = graph.emit_op<RegressionLossOp>({logits, target}, kind)[0];
  graph.add_loss(loss);
  graph.mark_output("loss", loss);
  graph.mark_output("score", graph.emit_op<SoftmaxCrossEntropyOp>({logits, labels})[1]);
}

}  // namespace

void cross_entropy_loss(Graph& graph, Value logits, Value labels,
                        const CrossEntropyOptions& options) {
  require(bool(options.other_labels) == bool(options.mix), "mixed labels need their shares");
  const Shape shape = graph.spec(logits).shape;
  // The op takes rows: positions of a sequence become rows of a batch.
  int64_t rows = graph.spec(labels).shape.elements();
  auto as_rows = [&](Value value) {
    return shape.rank() == 2 ? value : reshape(graph, value, {rows});
  };
  std::vector<Value> inputs = {logits, as_rows(labels)};
  if (shape.rank() != 2) inputs[0] = reshape(graph, logits, {rows, shape.back()});
  if (options.mix) inputs.insert(inputs.end(), {as_rows(options.other_labels), options.mix});
  SoftmaxCrossEntropyAttributes attributes{.label_smoothing = options.label_smoothing,
                                           .rows_per_sample = rows / shape[0],
                                           .mixed = bool(options.mix),
                                           .unlabelled = options.unlabelled,
                                           .z_loss = graph.training() ? options.z_loss : 0.0f,
                                           .weight = options.weight};
  auto outputs = graph.emit_op<SoftmaxCrossEntropyOp>(inputs, attributes);
  graph.add_loss(outputs[0]);
  graph.mark_output("loss", outputs[0]);
  graph.mark_output("score", outputs[1]);
}

void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing) {
  cross_entropy_loss(graph, logits, labels, {.label_smoothing = label_smoothing});
}

void distillation_loss(Graph& graph, Value logits, Value teacher,
                       const DistillationOptions& options) {
  const Shape shape = graph.spec(logits).shape;
  int64_t rows = shape.elements() / shape.back();
  auto as_rows = [&](Value value) {
    bool is_matrix = shape.rank() == 2 || graph.spec(value).shape != shape;
    return is_matrix ? value : reshape(graph, value, {rows, shape.back()});
  };
  std::vector<Value> inputs = {as_rows(logits), as_rows(teacher)};
  auto before = graph.outputs().find("loss");
  if (before != graph.outputs().end()) inputs.push_back(before->second);
  DistillationAttributes attributes{.temperature = options.temperature,
                                    .weight = options.weight,
                                    .rows_per_sample = rows / shape[0]};
  Value loss = graph.emit_op<DistillationOp>(inputs, attributes)[0];
  graph.add_loss(loss);
  graph.mark_output("loss", loss);
}

void mse_loss(Graph& graph, Value logits, Value labels) {
  regression_loss(graph, logits, labels, Regression::mse);
}

void l1_loss(Graph& graph, Value logits, Value labels) {
  regression_loss(graph, logits, labels, Regression::l1);
}

void reconstruction_loss(Graph& graph, Value prediction, Value target, Regression kind) {
  auto outputs = graph.emit_op<RegressionLossOp>({prediction, target}, kind);
  graph.add_loss(outputs[0]);
  graph.mark_output("loss", outputs[0]);
  graph.mark_output("score", outputs[1]);
}

}  // namespace spire::inline graph

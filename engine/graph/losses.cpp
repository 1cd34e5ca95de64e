// Losses and scores of a training graph: those that are ops; those that are composed of others'
// ops, of weighted classes, of labels that may be none or several, and of numbers with outliers;
// and the reductions with which programs compose theirs.
#include <vector>

#include <spire/layers.h>

#include "engine/base/fail.h"
#include "kernels/ops/distillation/distillation.h"
#include "kernels/ops/labels/labels.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/softmax/softmax.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire {
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

// Compares with the one-hot label; "score" counts correct answers, as for cross entropy.
void regression_loss(Graph& graph, Value logits, Value labels, Regression kind) {
  const TensorSpec& spec = graph.spec(logits);
  OneHotAttributes attributes{.classes = spec.shape.back(), .dtype = spec.dtype};
  Value target = graph.emit_op<OneHotOp>({labels}, attributes)[0];
  Value loss = graph.emit_op<RegressionLossOp>({logits, target}, RegressionAttributes{kind})[0];
  graph.add_loss(loss);
  graph.mark_output("loss", loss);
  graph.mark_output("score", graph.emit_op<SoftmaxCrossEntropyOp>({logits, labels})[1]);
}

// (1 - p)^gamma, as e^(gamma ln(1 - p)). A probability that is rounded to 1 or above gives
// (1e-12)^gamma, without a gradient.
Value focus(Graph& graph, Value p, float gamma) {
  Value rest = scale(graph, relu(graph, scale(graph, p, -1, 1)), 1, 1e-12f);
  return exp(graph, scale(graph, log(graph, rest), gamma));
}

// x and its counterpart as pairs: (N, K) -> (N, K, 2).
Value pairs(Graph& graph, Value x, Value other) {
  const Shape shape = graph.spec(x).shape;
  Shape single{shape[0], shape[1], 1};
  return concat(graph, {reshape(graph, x, single), reshape(graph, other, single)}, 2);
}

// The losses (N) of samples as if these were their labels. log_p: log_softmax of the logits, fp32.
Value losses_of_labels(Graph& graph, Value logits, Value log_p, Value labels,
                       const FocalOptions& options) {
  int64_t classes = graph.spec(logits).shape.back();
  auto one_hot = [&](const std::vector<float>& weights) {
    OneHotAttributes attributes{.classes = classes, .dtype = DType::f32, .weights = weights};
    return graph.emit_op<OneHotOp>({labels}, attributes)[0];
  };
  Value is_label = one_hot({});
  float spread = options.label_smoothing;
  Value target = scale(graph, is_label, 1 - spread, spread / static_cast<float>(classes));
  Value loss = scale(graph, sum(graph, mul(graph, log_p, target), 1), -1);
  bool adds_z = options.z_loss > 0 && graph.training();
  Value log_p_label;
  if (options.gamma > 0 || adds_z) log_p_label = sum(graph, mul(graph, log_p, is_label), 1);
  if (options.gamma > 0)
    loss = mul(graph, loss, focus(graph, exp(graph, log_p_label), options.gamma));
  if (adds_z) {
    Value logit = sum(graph, mul(graph, cast(graph, logits, DType::f32), is_label), 1);
    Value log_z = sub(graph, logit, log_p_label);
    loss = add(graph, loss, scale(graph, square(graph, log_z), options.z_loss));
  }
  if (!options.class_weights.empty())
    loss = mul(graph, loss, sum(graph, one_hot(options.class_weights), 1));
  return loss;
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
                                           .weight = options.weight,
                                           .gradient = graph.training()};
  auto outputs = graph.emit_op<SoftmaxCrossEntropyOp>(inputs, attributes);
  if (attributes.gradient) outputs.erase(outputs.begin());
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
  auto outputs = graph.emit_op<RegressionLossOp>({prediction, target}, RegressionAttributes{kind});
  graph.add_loss(outputs[0]);
  graph.mark_output("loss", outputs[0]);
  graph.mark_output("score", outputs[1]);
}

void focal_loss(Graph& graph, Value logits, Value labels, const FocalOptions& options) {
  require(bool(options.other_labels) == bool(options.mix), "mixed labels need their shares");
  Value log_p = log_softmax(graph, cast(graph, logits, DType::f32));
  Value loss = losses_of_labels(graph, logits, log_p, labels, options);
  std::vector<Value> inputs = {logits, labels};
  if (options.mix) {
    Value other = losses_of_labels(graph, logits, log_p, options.other_labels, options);
    loss = add(graph, mul(graph, loss, options.mix),
               mul(graph, other, scale(graph, options.mix, -1, 1)));
    inputs.insert(inputs.end(), {options.other_labels, options.mix});
  }
  if (options.weight != 1) loss = scale(graph, loss, options.weight);
  add_mean_loss(graph, loss);
  SoftmaxCrossEntropyAttributes attributes{.mixed = bool(options.mix)};
  graph.mark_output("score", graph.emit_op<SoftmaxCrossEntropyOp>(inputs, attributes)[1]);
}

// ln sigmoid(x) and ln(1 - sigmoid(x)) are the log softmax of the pair (x, 0), which neither
// overflows nor cancels.
void binary_loss(Graph& graph, Value logits, Value labels) {
  Value x = cast(graph, logits, DType::f32);
  Value log_p = log_softmax(graph, pairs(graph, x, scale(graph, x, 0)));
  Value target = pairs(graph, labels, scale(graph, labels, -1, 1));
  // The mean is over twice as many terms as there are labels.
  add_mean_loss(graph, scale(graph, mul(graph, log_p, target), -2));
  mark_score(graph, graph.emit_op<ExactMatchOp>({logits, labels})[0]);
}

// With q = min(|d|, delta) the loss is q (|d| - q / 2). An error that is NaN leaves q NaN.
void huber_loss(Graph& graph, Value prediction, Value target, float delta) {
  Value d = sub(graph, cast(graph, prediction, DType::f32), cast(graph, target, DType::f32));
  Value size = abs(graph, d);
  Value q = sub(graph, size, relu(graph, scale(graph, size, 1, -delta)));
  add_mean_loss(graph, mul(graph, q, sub(graph, size, scale(graph, q, 0.5f))));
  graph.mark_output("score", graph.emit_op<RegressionLossOp>({prediction, target})[1]);
}

}  // namespace spire

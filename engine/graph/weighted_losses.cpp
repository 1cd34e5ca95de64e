// Losses that are composed of others' ops: of weighted classes, of labels that may be none or
// several, and of numbers with outliers.
#include <vector>

#include <spire/error.h>
#include <spire/layers.h>

#include "kernels/ops/exact_match/exact_match.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace spire::inline graph {
namespace {

Value in_fp32(Graph& graph, Value x) {
  return graph.spec(x).dtype == DType::f32 ? x : cast(graph, x, DType::f32);
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

}  // namespace

namespace {

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
    Value logit = sum(graph, mul(graph, in_fp32(graph, logits), is_label), 1);
    Value log_z = sub(graph, logit, log_p_label);
    loss = add(graph, loss, scale(graph, square(graph, log_z), options.z_loss));
  }
  if (!options.class_weights.empty())
    loss = mul(graph, loss, sum(graph, one_hot(options.class_weights), 1));
  return loss;
}

}  // namespace

void focal_loss(Graph& graph, Value logits, Value labels, const FocalOptions& options) {
  require(bool(options.other_labels) == bool(options.mix), "mixed labels need their shares");
  Value log_p = log_softmax(graph, in_fp32(graph, logits));
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
  Value x = in_fp32(graph, logits);
  Value log_p = log_softmax(graph, pairs(graph, x, scale(graph, x, 0)));
  Value target = pairs(graph, labels, scale(graph, labels, -1, 1));
  // The mean is over twice as many terms as there are labels.
  add_mean_loss(graph, scale(graph, mul(graph, log_p, target), -2));
  mark_score(graph, graph.emit_op<ExactMatchOp>({logits, labels})[0]);
}

// With q = min(|d|, delta) the loss is q (|d| - q / 2). An error that is NaN leaves q NaN.
void huber_loss(Graph& graph, Value prediction, Value target, float delta) {
  Value d = sub(graph, in_fp32(graph, prediction), in_fp32(graph, target));
  Value size = abs(graph, d);
  Value q = sub(graph, size, relu(graph, scale(graph, size, 1, -delta)));
  add_mean_loss(graph, mul(graph, q, sub(graph, size, scale(graph, q, 0.5f))));
  graph.mark_output("score",
                    graph.emit_op<RegressionLossOp>({prediction, target}, Regression::mse)[1]);
}

}  // namespace spire::inline graph

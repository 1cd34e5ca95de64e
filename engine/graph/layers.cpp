#include "engine/graph/layers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/ops/activation/activation.h"
#include "kernels/ops/avg_pool2d/avg_pool2d.h"
#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/binary/binary.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/dense/dense.h"
#include "kernels/ops/dropout/dropout.h"
#include "kernels/ops/matmul/matmul.h"
#include "kernels/ops/max_pool2d/max_pool2d.h"
#include "kernels/ops/one_hot/one_hot.h"
#include "kernels/ops/regression_loss/regression_loss.h"
#include "kernels/ops/softmax_cross_entropy/softmax_cross_entropy.h"
#include "kernels/ops/tower_sum/tower_sum.h"

namespace spire::inline graph {

Initializer uniform(float bound) {
  return [bound](const RandomStream& random, std::span<float> values) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = (2.0f * random.uniform(i) - 1.0f) * bound;
  };
}

Initializer kaiming_uniform(int64_t fan_in) {
  return uniform(std::sqrt(6.0f / static_cast<float>(fan_in)));
}

Initializer linear_uniform(int64_t fan_in) {
  return uniform(1.0f / std::sqrt(static_cast<float>(fan_in)));
}

Initializer kaiming_normal(int64_t fan_out) {
  return normal(std::sqrt(2.0 / static_cast<double>(fan_out)));
}

Initializer normal(double deviation) {
  return [deviation](const RandomStream& random, std::span<float> values) {
    for (size_t i = 0; i < values.size(); ++i) {  // Box & Muller 1958; 1 - u is never 0
      double radius = std::sqrt(-2.0 * std::log(1.0 - double{random.uniform(2 * i)}));
      double angle = 2.0 * std::numbers::pi * double{random.uniform(2 * i + 1)};
      values[i] = static_cast<float>(deviation * radius * std::cos(angle));
    }
  };
}

Initializer constant(float value) {
  return [value](const RandomStream&, std::span<float> values) {
    std::fill(values.begin(), values.end(), value);
  };
}

Value conv2d(Graph& graph, const std::string& name, Value x, const Conv2dOptions& options) {
  int64_t inputs = graph.spec(x).shape.back() / options.groups;
  int64_t fan_in = inputs * options.kernel.h * options.kernel.w;
  std::vector<Value> operands = {x};
  operands.push_back(graph.parameter(
      name + ".weight", {options.channels, inputs, options.kernel.h, options.kernel.w},
      options.initialize ? options.initialize : kaiming_uniform(fan_in)));
  if (options.bias)
    operands.push_back(graph.parameter(name + ".bias", {options.channels}, constant(0)));
  return graph.emit_op<Conv2dOp>(operands, Conv2dAttributes{.stride = options.stride,
                                                            .padding = options.padding,
                                                            .dilation = options.dilation,
                                                            .groups = options.groups,
                                                            .bias = options.bias})[0];
}

Value dense(Graph& graph, const std::string& name, Value x, int64_t units, bool bias,
            Initializer initialize) {
  int64_t inputs = graph.spec(x).shape.back();
  if (!initialize) initialize = kaiming_uniform(inputs);
  std::vector<Value> operands = {x, graph.parameter(name + ".weight", {units, inputs}, initialize)};
  if (bias) operands.push_back(graph.parameter(name + ".bias", {units}, constant(0)));
  return graph.emit_op<DenseOp>(operands, DenseAttributes{.bias = bias})[0];
}

namespace {

// The outputs of BatchNormOp, of this batch or of all towers'.
std::vector<Value> normalize(Graph& graph, Value x, Value gamma, Value beta, bool sync,
                             const BatchNormAttributes& attributes) {
  if (!sync) return graph.emit_op<BatchNormOp>({x, gamma, beta}, attributes);
  Value moments = graph.emit_op<BatchNormMomentsOp>({x})[0];
  Value total = graph.emit_op<TowerSumOp>({moments})[0];
  return graph.emit_op<BatchNormSyncOp>({x, gamma, beta, total}, attributes);
}

}  // namespace

Value batch_norm(Graph& graph, const std::string& name, Value x, const BatchNormOptions& options) {
  Shape channels = {graph.spec(x).shape.back()};
  Value gamma = graph.parameter(name + ".gamma", channels, constant(options.gamma));
  Value beta = graph.parameter(name + ".beta", channels, constant(0));
  Value mean = graph.state(name + ".running_mean", channels, 0);
  Value variance = graph.state(name + ".running_var", channels, 1);
  BatchNormAttributes attributes{.epsilon = options.epsilon};
  if (!graph.training()) {
    return graph.emit_op<BatchNormEvalOp>({x, gamma, beta, mean, variance}, attributes)[0];
  }
  auto outputs = normalize(graph, x, gamma, beta, options.sync, attributes);
  graph.update_state({mean, outputs[3], options.momentum});
  graph.update_state({variance, outputs[4], options.momentum});
  return outputs[0];
}

namespace {

Value activation(Graph& graph, Value x, Activation kind, float slope = 0.01f) {
  return graph.emit_op<ActivationOp>({x}, ActivationAttributes{.kind = kind, .slope = slope})[0];
}

}  // namespace

Value relu(Graph& graph, Value x) {
  return activation(graph, x, Activation::relu);
}
Value leaky_relu(Graph& graph, Value x, float slope) {
  return activation(graph, x, Activation::leaky_relu, slope);
}
Value gelu(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu);
}
Value gelu_tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::gelu_tanh);
}
Value sigmoid(Graph& graph, Value x) {
  return activation(graph, x, Activation::sigmoid);
}
Value tanh(Graph& graph, Value x) {
  return activation(graph, x, Activation::tanh);
}

Value max_pool2d(Graph& graph, Value x, const PoolOptions& options) {
  return graph.emit_op<MaxPool2dOp>(
      {x}, MaxPool2dAttributes{options.kernel, options.stride, options.padding})[0];
}

Value avg_pool2d(Graph& graph, Value x, const PoolOptions& options) {
  return graph.emit_op<AvgPool2dOp>(
      {x}, AvgPool2dAttributes{options.kernel, options.stride, options.padding})[0];
}

Value global_avg_pool(Graph& graph, Value x) {
  return graph.emit_op<GlobalAvgPoolOp>({x})[0];
}

Value add(Graph& graph, Value a, Value b) {
  return graph.emit_op<AddOp>({a, b})[0];
}

Value mul(Graph& graph, Value a, Value b) {
  return graph.emit_op<MulOp>({a, b})[0];
}

Value dropout(Graph& graph, Value x, float rate) {
  if (!graph.training() || rate == 0.0f) return x;
  return graph.emit_op<DropoutOp>({x}, DropoutAttributes{.rate = rate})[0];
}

Value matmul(Graph& graph, Value a, Value b) {
  return graph.emit_op<MatmulOp>({a, b})[0];
}

void cross_entropy_loss(Graph& graph, Value logits, Value labels,
                        const CrossEntropyOptions& options) {
  require(bool(options.other_labels) == bool(options.mix), "mixed labels need their shares");
  const Shape shape = graph.spec(logits).shape;
  int64_t rows = graph.spec(labels).shape.elements();
  auto as_rows = [&](Value value) {
    return shape.rank() == 2 ? value : reshape(graph, value, {rows});
  };
  std::vector<Value> inputs = {logits, as_rows(labels)};
  if (shape.rank() != 2) inputs[0] = reshape(graph, logits, {rows, shape.back()});
  if (options.mix) inputs.insert(inputs.end(), {as_rows(options.other_labels), options.mix});
  SoftmaxCrossEntropyAttributes attributes{.label_smoothing = options.label_smoothing,
                                           .rows_per_sample = rows / shape[0],
                                           .mixed = bool(options.mix)};
  auto outputs = graph.emit_op<SoftmaxCrossEntropyOp>(inputs, attributes);
  graph.add_loss(outputs[0]);
  graph.mark_output("loss", outputs[0]);
  graph.mark_output("score", outputs[1]);
}

void cross_entropy_loss(Graph& graph, Value logits, Value labels, float label_smoothing) {
  cross_entropy_loss(graph, logits, labels, {.label_smoothing = label_smoothing});
}

namespace {

// Against the one-hot label; "score" counts as for cross entropy.
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

void mse_loss(Graph& graph, Value logits, Value labels) {
  regression_loss(graph, logits, labels, Regression::mse);
}

void l1_loss(Graph& graph, Value logits, Value labels) {
  regression_loss(graph, logits, labels, Regression::l1);
}

}  // namespace spire::inline graph

// Layers over images, (N, H, W, C): convolution, batch normalization, pooling, resizing.
#include <algorithm>

#include <spire/layers.h>

#include "kernels/ops/batch_norm/batch_norm.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"
#include "kernels/ops/pool2d/pool2d.h"
#include "kernels/ops/reduce/reduce.h"
#include "kernels/ops/resize/resize.h"

namespace spire {
Value conv2d(Graph& graph, const std::string& name, Value x, const Conv2dOptions& options) {
  int64_t inputs = graph.spec(x).shape.back() / options.groups;
  int64_t fan_in = inputs * options.kernel.h * options.kernel.w;
  std::vector<Value> operands = {x};
  operands.push_back(graph.parameter(
      name + ".weight", {options.channels, inputs, options.kernel.h, options.kernel.w},
      options.initialize ? options.initialize : init::kaiming_uniform(fan_in)));
  if (options.bias)
    operands.push_back(graph.parameter(name + ".bias", {options.channels}, init::constant(0)));
  return graph.emit_op<Conv2dOp>(operands, Conv2dAttributes{.stride = options.stride,
                                                            .padding = options.padding,
                                                            .dilation = options.dilation,
                                                            .groups = options.groups,
                                                            .bias = options.bias})[0];
}

// fan_in: an output pixel sums over 1 / (stride.h * stride.w) of the kernel's taps.
Value conv_transpose2d(Graph& graph, const std::string& name, Value x,
                       const ConvTranspose2dOptions& options) {
  int64_t inputs = graph.spec(x).shape.back();
  int64_t taps = options.kernel.h * options.kernel.w;
  int64_t fan_in = std::max<int64_t>(1, inputs * taps / (options.stride.h * options.stride.w));
  Value weight = graph.parameter(
      name + ".weight", {inputs, options.channels, options.kernel.h, options.kernel.w},
      options.initialize ? options.initialize : init::kaiming_uniform(fan_in));
  Value y = graph.emit_op<ConvTranspose2dOp>(
      {x, weight}, ConvTranspose2dAttributes{.stride = options.stride,
                                             .padding = options.padding,
                                             .output_padding = options.output_padding})[0];
  if (!options.bias) return y;
  Value bias = graph.parameter(name + ".bias", {options.channels}, init::constant(0));
  return graph.emit_op<BiasOp>({y, bias})[0];
}

Value batch_norm(Graph& graph, const std::string& name, Value x, const BatchNormOptions& options) {
  Shape channels = {graph.spec(x).shape.back()};
  Value gamma = graph.parameter(name + ".gamma", channels, init::constant(options.gamma));
  Value beta = graph.parameter(name + ".beta", channels, init::constant(0));
  Value mean = graph.state(name + ".running_mean", channels, 0);
  Value variance = graph.state(name + ".running_var", channels, 1);
  BatchNormAttributes attributes{.epsilon = options.epsilon, .sync = options.sync};
  if (!graph.training()) {
    return graph.emit_op<BatchNormEvalOp>({x, gamma, beta, mean, variance}, attributes)[0];
  }
  std::vector<Value> inputs = {x, gamma, beta, variance};
  if (options.sync) {  // towers wait for each other
    Value moments = graph.emit_op<BatchNormMomentsOp>({x})[0];
    inputs.push_back(graph.emit_op<TowerSumOp>({moments})[0]);
  }
  // Outputs 3 and 4 are this tower's share of the mean and the variance.
  auto outputs = graph.emit_op<BatchNormOp>(inputs, attributes);
  graph.update_state({mean, outputs[3], options.momentum});
  graph.update_state({variance, outputs[4], options.momentum});
  return outputs[0];
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

Value resize(Graph& graph, Value x, Extent2d size, Resize kind) {
  if (extent_of(graph.spec(x).shape) == size) return x;
  return graph.emit_op<ResizeOp>({x}, ResizeAttributes{kind, size})[0];
}

Value pad_channels(Graph& graph, Value x, int64_t channels) {
  if (graph.spec(x).shape.back() == channels) return x;
  return graph.emit_op<PadChannelsOp>({x}, channels)[0];
}

}  // namespace spire

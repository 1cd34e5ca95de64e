// The layer functions that images alone need.
#include <algorithm>

#include "engine/graph/layers.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
#include "kernels/ops/conv2d/conv2d.h"

namespace spire::inline graph {

// Of the kernel's taps, one in stride.h * stride.w meets an output pixel.
Value conv_transpose2d(Graph& graph, const std::string& name, Value x,
                       const ConvTranspose2dOptions& options) {
  int64_t inputs = graph.spec(x).shape.back();
  int64_t taps = options.kernel.h * options.kernel.w;
  int64_t fan_in = std::max<int64_t>(1, inputs * taps / (options.stride.h * options.stride.w));
  Value weight = graph.parameter(name + ".weight",
                                 {inputs, options.channels, options.kernel.h, options.kernel.w},
                                 options.initialize ? options.initialize : kaiming_uniform(fan_in));
  Value y = graph.emit_op<ConvTranspose2dOp>(
      {x, weight}, ConvTranspose2dAttributes{.stride = options.stride,
                                             .padding = options.padding,
                                             .output_padding = options.output_padding})[0];
  if (!options.bias) return y;
  Value bias = graph.parameter(name + ".bias", {options.channels}, constant(0));
  return graph.emit_op<BiasOp>({y, bias})[0];
}

Value resize(Graph& graph, Value x, Extent2d size, Resize kind) {
  if (extent_of(graph.spec(x).shape) == size) return x;
  return graph.emit_op<ResizeOp>({x}, kind, size)[0];
}

Value pad_channels(Graph& graph, Value x, int64_t channels) {
  if (graph.spec(x).shape.back() == channels) return x;
  return graph.emit_op<PadChannelsOp>({x}, channels)[0];
}

void reconstruction_loss(Graph& graph, Value prediction, Value target, Regression kind) {
  auto outputs = graph.emit_op<RegressionLossOp>({prediction, target}, kind);
  graph.add_loss(outputs[0]);
  graph.mark_output("loss", outputs[0]);
  graph.mark_output("score", outputs[1]);
}

}  // namespace spire::inline graph

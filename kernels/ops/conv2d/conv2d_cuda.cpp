// Convolution on a GPU, by the engines of cuda/convolution.h. Weights are packed as KRSC,
// the (O, KH, KW, C/groups) that libraries read; their gradient is converted back. Bias and relu
// are fused where the engine does so, else a small kernel adds them.
#include "engine/device/device_memory.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/packing.h"
#include "kernels/kernel.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/conv2d/conv2d.h"

namespace spire {

namespace {

// Returns the convolution of a pass, whatever it reads and writes: x, y and the plain w (O,
// C/groups, KH, KW) are those of the forward.
CudaConvolution convolution(ConvolutionPass pass, const Conv2dAttributes& g, const TensorSpec& x,
                            const Shape& w, const TensorSpec& y, const KernelRequest& request) {
  return {{.pass = pass,
           .x = x.shape,
           .y = y.shape,
           .window = {{w[2], w[3]}, g.stride, g.padding, g.dilation},
           .groups = g.groups,
           .dtype = x.dtype,
           .bias = g.bias && pass == ConvolutionPass::forward,
           .relu = g.relu && pass == ConvolutionPass::forward},
          request.cuda};
}

}  // namespace

template <>
Kernel make_cuda(const Conv2dOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  const TensorSpec& y = request.outputs[0];
  auto by = convolution(ConvolutionPass::forward, g, request.inputs[0], request.inputs[1].shape, y,
                        request);
  size_t bytes = by.workspace_bytes();
  auto run = [y, has_bias = g.bias, relu = g.relu, by = std::move(by)](const KernelArgs& args) {
    auto bias = has_bias ? args.in<float>(2) : nullptr;
    by.run({.x = args.inputs[0],
            .filter = args.inputs[1],
            .bias = bias,
            .result = args.outputs[0],
            .workspace = args.workspace},
           args.stream);
    if (!by.adds_bias_relu()) add_bias_relu_cuda(y, bias, relu, args.outputs[0], args.stream);
  };
  return Kernel(std::move(run), bytes).reading(krsc_packings(1, y.dtype, request));
}

template <>
Kernel make_cuda(const Conv2dBackwardDataOp& op, const KernelRequest& request) {
  const TensorSpec& dy = request.inputs[0];
  auto by = convolution(ConvolutionPass::backward_data, op.attributes(), request.outputs[0],
                        request.inputs[1].shape, dy, request);
  size_t bytes = by.workspace_bytes();
  auto run = [by = std::move(by)](const KernelArgs& args) {
    by.run({.filter = args.inputs[1],
            .y = args.inputs[0],
            .result = args.outputs[0],
            .workspace = args.workspace},
           args.stream);
  };
  return Kernel(std::move(run), bytes).reading(krsc_packings(1, dy.dtype, request));
}

// Workspace: dw as KRSC, unless that is the output itself, then the convolution's. The column sums
// of dy (the gradient of the bias) run last and use it all again.
template <>
Kernel make_cuda(const Conv2dBackwardWeightsOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  const Shape& dw = request.outputs[0].shape;
  auto by = convolution(ConvolutionPass::backward_weights, g, request.inputs[0], dw,
                        request.inputs[1], request);
  bool in_place = same_order(dw) && by.result_dtype() == DType::f32;
  // The convolution's part keeps the workspace's alignment.
  size_t krsc_bytes =
      in_place ? 0 : align_up(TensorSpec{dw, by.result_dtype()}.bytes(), workspace_alignment);
  Kernel sums;
  if (g.bias) sums = column_sums_cuda(request.inputs[1], 1, 1);
  size_t bytes = std::max(krsc_bytes + by.workspace_bytes(), sums.workspace_bytes());
  auto run = [dw, krsc_bytes, by = std::move(by),
              sums = std::move(sums)](const KernelArgs& args) mutable {
    auto krsc = args.scratch<char>();
    by.run({.x = args.inputs[0],
            .y = args.inputs[1],
            .result = krsc_bytes > 0 ? krsc : args.outputs[0],
            .workspace = krsc + krsc_bytes},
           args.stream);
    if (krsc_bytes > 0) krsc_to_plain(dw, by.result_dtype(), krsc, args.out<float>(0), args.stream);
    if (sums) sums.run(args);
  };
  return Kernel(std::move(run), bytes);
}

// Its kernel is that of conv2d's data gradient: the dy of that is our x, its dx our y.
template <>
Kernel make_cuda(const ConvTranspose2dOp& op, const KernelRequest& request) {
  Conv2dBackwardDataOp same(op.attributes().convolution(), request.outputs[0]);
  return make_cuda(same, request);
}

}  // namespace spire

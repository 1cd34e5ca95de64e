// Convolution on a GPU, by the engines of cuda/convolution.h. Weights are packed as KRSC,
// the (O, KH, KW, C/groups) that libraries read; their gradient is converted back. Bias and relu
// are fused where the engine does so, else a small kernel adds them. In 16 bits, inputs whose
// channels are no multiple of 8, as those of images, are padded with zeros in the workspace, as
// engines on tensor cores take them, and so are the filters.
#include "engine/device/device_memory.h"
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/packing.h"
#include "kernels/kernel.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/concat/concat.h"
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

// x as the engines read it. cuDNN would pad it, too, with kernels that take longer than the
// convolution, and within the engine's limit of workspace.
class EngineInput {
 public:
  EngineInput(const TensorSpec& x, const Conv2dAttributes& g, const KernelRequest& request)
      : spec_(x), groups_(g.groups) {
    constexpr int64_t multiple = 8;
    int64_t channels = (x.shape[3] + multiple - 1) / multiple * multiple;
    if (size_of(x.dtype) != 2 || g.groups != 1 || channels == x.shape[3]) return;
    spec_.shape[3] = channels;
    bytes_ = align_up(spec_.bytes(), workspace_alignment);
    KernelRequest pads = request;
    pads.inputs = {&x, 1};
    pads.outputs = {&spec_, 1};
    pad_ = make_kernel(PadChannelsOp(channels), pads);
  }

  const TensorSpec& spec() const { return spec_; }
  int64_t filter_channels() const { return spec_.shape[3] / groups_; }
  size_t workspace_bytes() const { return bytes_; }  // at the workspace's beginning

  // Returns input 0 as the engines read it.
  const void* make(const KernelArgs& args) {
    if (!pad_) return args.inputs[0];
    KernelArgs pads = args;
    pads.inputs = args.inputs.first(1);
    pads.outputs = {&args.workspace, 1};
    pad_.run(pads);
    return args.workspace;
  }

 private:
  TensorSpec spec_;
  int64_t groups_;
  size_t bytes_ = 0;
  Kernel pad_;  // none: x is read as it is
};

}  // namespace

template <>
Kernel make_cuda(const Conv2dOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  const TensorSpec& y = request.outputs[0];
  EngineInput x(request.inputs[0], g, request);
  auto by = convolution(ConvolutionPass::forward, g, x.spec(), request.inputs[1].shape, y, request);
  size_t bytes = x.workspace_bytes() + by.workspace_bytes();
  auto packings = krsc_packings(1, y.dtype, request, x.filter_channels());
  auto run = [y, has_bias = g.bias, relu = g.relu, x = std::move(x),
              by = std::move(by)](const KernelArgs& args) mutable {
    auto bias = has_bias ? args.in<float>(2) : nullptr;
    by.run({.x = x.make(args),
            .filter = args.inputs[1],
            .bias = bias,
            .result = args.outputs[0],
            .workspace = args.scratch<char>() + x.workspace_bytes()},
           args.stream);
    if (!by.adds_bias_relu()) add_bias_relu_cuda(y, bias, relu, args.outputs[0], args.stream);
  };
  return Kernel(std::move(run), bytes).reading(std::move(packings));
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

// Workspace: padded x; dw as KRSC, unless that is the output itself; then the convolution's. The
// column sums of dy (the gradient of the bias) run last and use it all again.
template <>
Kernel make_cuda(const Conv2dBackwardWeightsOp& op, const KernelRequest& request) {
  const Conv2dAttributes& g = op.attributes();
  const Shape& dw = request.outputs[0].shape;
  EngineInput x(request.inputs[0], g, request);
  auto by =
      convolution(ConvolutionPass::backward_weights, g, x.spec(), dw, request.inputs[1], request);
  Shape wide = dw;
  wide[1] = x.filter_channels();
  bool in_place = same_order(dw) && wide == dw && by.result_dtype() == DType::f32;
  // The convolution's part keeps the workspace's alignment.
  size_t krsc_bytes =
      in_place ? 0 : align_up(TensorSpec{wide, by.result_dtype()}.bytes(), workspace_alignment);
  Kernel sums;
  if (g.bias) sums = column_sums_cuda(request.inputs[1], 1, 1);
  size_t bytes =
      std::max(x.workspace_bytes() + krsc_bytes + by.workspace_bytes(), sums.workspace_bytes());
  auto run = [dw, krsc_bytes, channels = wide[1], x = std::move(x), by = std::move(by),
              sums = std::move(sums)](const KernelArgs& args) mutable {
    auto krsc = args.scratch<char>() + x.workspace_bytes();
    by.run({.x = x.make(args),
            .y = args.inputs[1],
            .result = krsc_bytes > 0 ? krsc : args.outputs[0],
            .workspace = krsc + krsc_bytes},
           args.stream);
    if (krsc_bytes > 0)
      krsc_to_plain(dw, channels, by.result_dtype(), krsc, args.out<float>(0), args.stream);
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

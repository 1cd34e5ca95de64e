// Convolution on a GPU, by the engines of nvidia/convolution.h. Weights are packed as KRSC,
// the (O, KH, KW, C/groups) that libraries read; their gradient is converted back. Bias and relu
// are fused where the engine does so, else a small kernel adds them.
#include "engine/device/device_memory.h"
#include "kernels/cuda/packing.h"
#include "kernels/kernel.h"
#include "kernels/nvidia/convolution.h"
#include "kernels/ops/bias/bias.h"
#include "kernels/ops/conv2d/conv2d.h"

namespace spire::inline kernels {

namespace {

// Returns the shape of a pass, whatever it reads and writes: x, y and the plain w (O, C/groups, KH,
// KW) are those of the forward.
ConvolutionShape shape_of(ConvolutionPass pass, const Conv2dAttributes& g, const TensorSpec& x,
                          const Shape& w, const TensorSpec& y) {
  return {.pass = pass,
          .x = x.shape,
          .y = y.shape,
          .window = {{w[2], w[3]}, g.stride, g.padding, g.dilation},
          .groups = g.groups,
          .dtype = x.dtype,
          .bias = g.bias && pass == ConvolutionPass::forward,
          .relu = g.relu && pass == ConvolutionPass::forward};
}

class Conv2dCudaKernel : public Kernel {
 public:
  Conv2dCudaKernel(const Conv2dAttributes& attributes, const KernelRequest& request)
      : attributes_(attributes),
        y_(request.outputs[0]),
        convolution_(shape_of(ConvolutionPass::forward, attributes, request.inputs[0],
                              request.inputs[1].shape, y_),
                     request.cuda),
        packings_(krsc_packings(1, y_.dtype, request)) {}

  std::vector<Packing> packings() const override { return packings_; }
  size_t workspace_bytes() const override { return convolution_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    auto* bias = attributes_.bias ? static_cast<const float*>(args.inputs[2]) : nullptr;
    convolution_.run({.x = args.inputs[0],
                      .filter = args.inputs[1],
                      .bias = bias,
                      .result = args.outputs[0],
                      .workspace = args.workspace},
                     args.stream);
    if (convolution_.fused()) return;
    add_bias_relu_cuda(y_, bias, attributes_.relu, args.outputs[0], args.stream);
  }

 private:
  Conv2dAttributes attributes_;
  TensorSpec y_;
  CudaConvolution convolution_;
  std::vector<Packing> packings_;
};

class Conv2dBackwardDataCudaKernel : public Kernel {
 public:
  Conv2dBackwardDataCudaKernel(const Conv2dAttributes& attributes, const KernelRequest& request)
      : convolution_(shape_of(ConvolutionPass::backward_data, attributes, request.outputs[0],
                              request.inputs[1].shape, request.inputs[0]),
                     request.cuda),
        packings_(krsc_packings(1, request.inputs[0].dtype, request)) {}

  std::vector<Packing> packings() const override { return packings_; }
  size_t workspace_bytes() const override { return convolution_.workspace_bytes(); }

  void run(const KernelArgs& args) override {
    convolution_.run({.filter = args.inputs[1],
                      .y = args.inputs[0],
                      .result = args.outputs[0],
                      .workspace = args.workspace},
                     args.stream);
  }

 private:
  CudaConvolution convolution_;
  std::vector<Packing> packings_;
};

// Workspace: dw as KRSC, unless that is the output itself, then the convolution's. The column sums
// of dy (the gradient of the bias) run last and use it all again.
class Conv2dBackwardWeightsCudaKernel : public Kernel {
 public:
  Conv2dBackwardWeightsCudaKernel(const Conv2dAttributes& attributes, const KernelRequest& request)
      : dw_(request.outputs[0].shape),
        convolution_(shape_of(ConvolutionPass::backward_weights, attributes, request.inputs[0], dw_,
                              request.inputs[1]),
                     request.cuda) {
    bool in_place = same_order(dw_) && convolution_.result() == DType::f32;
    if (!in_place)
      // The convolution's part keeps the workspace's alignment.
      krsc_bytes_ = align_up(TensorSpec{dw_, convolution_.result()}.bytes(), workspace_alignment);
    if (!attributes.bias) return;
    // db is the column sum of dy, input 1, into output 1: the kernel of the bias op.
    KernelRequest sums = request;
    sums.inputs = request.inputs.subspan(1, 1);
    sums.outputs = request.outputs.subspan(1, 1);
    column_sums_ = make_cuda(BiasBackwardOp(), sums);
  }

  size_t workspace_bytes() const override {
    return std::max(krsc_bytes_ + convolution_.workspace_bytes(),
                    column_sums_ ? column_sums_->workspace_bytes() : 0);
  }

  void run(const KernelArgs& args) override {
    auto* krsc = static_cast<char*>(args.workspace);
    convolution_.run({.x = args.inputs[0],
                      .y = args.inputs[1],
                      .result = krsc_bytes_ > 0 ? krsc : args.outputs[0],
                      .workspace = krsc + krsc_bytes_},
                     args.stream);
    if (krsc_bytes_ > 0)
      krsc_to_plain(dw_, convolution_.result(), krsc, static_cast<float*>(args.outputs[0]),
                    args.stream);
    if (!column_sums_) return;
    KernelArgs sums = args;
    sums.inputs = args.inputs.subspan(1, 1);
    sums.outputs = args.outputs.subspan(1, 1);
    column_sums_->run(sums);
  }

 private:
  Shape dw_;
  CudaConvolution convolution_;
  size_t krsc_bytes_ = 0;
  std::unique_ptr<Kernel> column_sums_;
};

}  // namespace

template <>
std::unique_ptr<Kernel> make_cuda(const Conv2dOp& op, const KernelRequest& request) {
  return std::make_unique<Conv2dCudaKernel>(op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const Conv2dBackwardDataOp& op, const KernelRequest& request) {
  return std::make_unique<Conv2dBackwardDataCudaKernel>(op.attributes(), request);
}

template <>
std::unique_ptr<Kernel> make_cuda(const Conv2dBackwardWeightsOp& op, const KernelRequest& request) {
  return std::make_unique<Conv2dBackwardWeightsCudaKernel>(op.attributes(), request);
}

// Its kernel is that of conv2d's data gradient: the dy of that is our x, its dx our y.
template <>
std::unique_ptr<Kernel> make_cuda(const ConvTranspose2dOp& op, const KernelRequest& request) {
  const auto& attributes = op.attributes();
  Conv2dBackwardDataOp same(attributes.convolution(), request.outputs[0]);
  return make_cuda(same, request);
}

}  // namespace spire::inline kernels

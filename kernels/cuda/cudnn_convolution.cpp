#include "kernels/cuda/cudnn_convolution.h"

namespace spire {
namespace {

// Returns the strides of axes N, C, H, W that lie as (N, H, W, C).
CudnnAxes channels_last(const CudnnAxes& a) {
  return {a[1] * a[2] * a[3], 1, a[3] * a[1], a[1]};
}

}  // namespace

CudnnConvolution::CudnnConvolution(const ConvolutionShape& shape, const ConvolutionForm& form,
                                   const Cudnn& cudnn)
    : s_(shape),
      form_(form),
      x_axes_{s_.x[0], s_.x[3], s_.x[1], s_.x[2]},
      y_axes_{s_.y[0], s_.y[3], s_.y[1], s_.y[2]},
      filter_axes_{s_.y[3], s_.x[3] / s_.groups, s_.window.kernel.h, s_.window.kernel.w} {
  if (s_.pass == ConvolutionPass::forward) add_forward();
  if (s_.pass == ConvolutionPass::backward_data) add_backward_data();
  if (s_.pass == ConvolutionPass::backward_weights) add_backward_weights();
  graph_.finalize(cudnn);
}

void CudnnConvolution::add_forward() {
  bool bias = s_.bias && form_.fused;
  const CudnnDescriptor& y = tensor(y_id, y_axes_, s_.dtype);
  const CudnnDescriptor* sum = bias ? &virtual_tensor(y_axes_) : &y;
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(filter_id, filter_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *sum);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
  graph_.add_operation(op);
  if (bias)
    graph_.pointwise(CUDNN_POINTWISE_ADD, *sum, &tensor(bias_id, {1, s_.y[3], 1, 1}, DType::f32),
                     y);
}

void CudnnConvolution::add_backward_data() {
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, tensor(y_id, y_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, tensor(filter_id, filter_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
  graph_.add_operation(op);
}

// Only fusing engines write another dtype than they read, and cuDNN proposes them only if there is
// something to fuse: here a copy.
void CudnnConvolution::add_backward_weights() {
  const CudnnDescriptor& dw = tensor(filter_id, filter_axes_, form_.result);
  bool copies = form_.result != s_.dtype;
  const CudnnDescriptor& sum = copies ? virtual_tensor(filter_axes_) : dw;
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, tensor(y_id, y_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, sum);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f);
  graph_.add_operation(op);
  if (copies) graph_.pointwise(CUDNN_POINTWISE_IDENTITY, sum, nullptr, dw);
}

const CudnnDescriptor& CudnnConvolution::tensor(Tensor id, const CudnnAxes& axes, DType dtype) {
  return graph_.tensor(id, axes, channels_last(axes), cudnn_dtype(dtype));
}

const CudnnDescriptor& CudnnConvolution::virtual_tensor(const CudnnAxes& axes) {
  return graph_.virtual_tensor(axes, channels_last(axes));
}

// Deep learning's convolution is a cross-correlation: the filter is not flipped.
const CudnnDescriptor& CudnnConvolution::window() {
  const auto& [kernel, stride, padding, dilation] = s_.window;
  CudnnDescriptor& made = add(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  auto set = [&](cudnnBackendAttributeName_t name, Extent2d extent) {
    int64_t values[] = {extent.h, extent.w};
    made.set_all(name, std::span<const int64_t>(values));
  };
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t{2});
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  made.finalize();
  return made;
}

}  // namespace spire

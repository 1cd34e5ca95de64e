#include <spire/kernels/cudnn_convolution.h>

namespace spire {
namespace {

cudnnDataType_t cudnn_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      fail(Category::unexpected, "no convolution of {}", name(dtype));
  }
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
  cudnn.name_in(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  graph_.link_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  graph_.finalize();
}

void CudnnConvolution::add_forward() {
  bool bias = s_.bias && form_.fused, relu = s_.relu && form_.fused;
  const CudnnDescriptor& y = tensor(y_id, y_axes_, s_.dtype);
  const CudnnDescriptor* sum = bias || relu ? &inner(sum_id, y_axes_) : &y;
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(filter_id, filter_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *sum);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0f);
  add_operation(op);
  if (bias) {
    const CudnnDescriptor& b = tensor(bias_id, {1, s_.y[3], 1, 1}, DType::f32);
    const CudnnDescriptor* biased = relu ? &inner(biased_id, y_axes_) : &y;
    add_pointwise(CUDNN_POINTWISE_ADD, *sum, &b, *biased);
    sum = biased;
  }
  if (relu) add_pointwise(CUDNN_POINTWISE_RELU_FWD, *sum, nullptr, y);
}

void CudnnConvolution::add_backward_data() {
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, tensor(y_id, y_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, tensor(filter_id, filter_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0.0f);
  add_operation(op);
}

// An engine that writes another dtype than it reads is one of those that fuse: cuDNN finds them
// only where there is something to fuse, if but a copy.
void CudnnConvolution::add_backward_weights() {
  const CudnnDescriptor& dw = tensor(filter_id, filter_axes_, form_.result);
  bool copies = form_.result != s_.dtype;
  const CudnnDescriptor& sum = copies ? inner(sum_id, filter_axes_) : dw;
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, tensor(x_id, x_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, tensor(y_id, y_axes_, s_.dtype));
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, sum);
  op.link(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, window());
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1.0f);
  op.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, 0.0f);
  add_operation(op);
  if (copies) add_pointwise(CUDNN_POINTWISE_IDENTITY, sum, nullptr, dw);
}

void CudnnConvolution::add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& from,
                                     const CudnnDescriptor* second, const CudnnDescriptor& to) {
  CudnnDescriptor& what = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  what.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  what.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  what.finalize();
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, what);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, from);
  if (second) op.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *second);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, to);
  add_operation(op);
}

void CudnnConvolution::add_operation(CudnnDescriptor& operation) {
  operation.finalize();
  operations_.push_back(operation.get());
}

const CudnnDescriptor& CudnnConvolution::tensor(Tensor id, const Axes& axes, DType dtype) {
  return make_tensor(id, axes, dtype, false);
}

const CudnnDescriptor& CudnnConvolution::inner(Tensor id, const Axes& axes) {
  return make_tensor(id, axes, DType::f32, true);
}

const CudnnDescriptor& CudnnConvolution::make_tensor(Tensor id, const Axes& a, DType dtype,
                                                     bool is_virtual) {
  CudnnDescriptor& made = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Axes strides{a[1] * a[2] * a[3], 1, a[3] * a[1], a[1]};  // lies as (N, H, W, C)
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t{id});
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, cudnn_dtype(dtype));
  made.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(a));
  made.set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(strides));
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});  // 64 in truth; engines ask for no more
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_virtual);
  made.finalize();
  return made;
}

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

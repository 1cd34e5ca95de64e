// A convolution as cuDNN's operations, with what is fused behind it.
#pragma once
#include <array>
#include <deque>

#include <spire/kernels/cuda_convolution.h>
#include <spire/kernels/cudnn.h>

namespace spire {

// One of the ways to say a ConvolutionShape.
struct ConvolutionForm {
  DType result;  // of what the pass writes
  bool fused;    // bias and relu are operations of the graph
};

class CudnnConvolution {
 public:
  // Unique ids of the tensors in memory.
  enum Tensor : int64_t { x_id = 1, filter_id, y_id, bias_id, sum_id, biased_id };

  // Throws Error(device) where cuDNN refuses the description itself.
  CudnnConvolution(const ConvolutionShape& shape, const ConvolutionForm& form, const Cudnn& cudnn);

  const CudnnDescriptor& graph() const { return graph_; }

 private:
  using Axes = std::array<int64_t, 4>;  // N, C, H, W, as cuDNN names them however they lie

  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(type); }
  void add_operation(CudnnDescriptor& operation);
  void add_forward();
  void add_backward_data();
  void add_backward_weights();
  void add_pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& from,
                     const CudnnDescriptor* second, const CudnnDescriptor& to);

  const CudnnDescriptor& tensor(Tensor id, const Axes& axes, DType dtype);
  const CudnnDescriptor& inner(Tensor id, const Axes& axes);  // fp32, between two operations
  const CudnnDescriptor& make_tensor(Tensor id, const Axes& axes, DType dtype, bool is_virtual);
  const CudnnDescriptor& window();

  ConvolutionShape s_;
  ConvolutionForm form_;
  Axes x_axes_, y_axes_, filter_axes_;
  std::deque<CudnnDescriptor> parts_;  // what operations and graph refer to
  std::vector<cudnnBackendDescriptor_t> operations_;
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace spire

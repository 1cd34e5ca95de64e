// A convolution as a cuDNN graph, with the bias fused into it if the form says so.
#pragma once
#include "kernels/cuda/convolution_form.h"
#include "kernels/cuda/cudnn_graph.h"

namespace spire {

class CudnnConvolution {
 public:
  // Unique ids of the tensors in memory.
  enum Tensor : int64_t { x_id = 1, filter_id, y_id, bias_id };

  // Throws Error(device) if cuDNN refuses the graph. REQUIRES: form.product is false.
  CudnnConvolution(const ConvolutionShape& shape, const ConvolutionForm& form, const Cudnn& cudnn);

  const CudnnDescriptor& graph() const { return graph_.descriptor(); }

 private:
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) { return graph_.add(type); }
  void add_forward();
  void add_backward_data();
  void add_backward_weights();

  // cuDNN lists axes as N, C, H, W whatever the layout; strides say that tensors are (N, H, W, C).
  const CudnnDescriptor& tensor(Tensor id, const CudnnAxes& axes, DType dtype);
  const CudnnDescriptor& virtual_tensor(const CudnnAxes& axes);  // fp32
  const CudnnDescriptor& window();

  ConvolutionShape s_;
  ConvolutionForm form_;
  CudnnAxes x_axes_, y_axes_, filter_axes_;
  CudnnGraph graph_;
};

}  // namespace spire

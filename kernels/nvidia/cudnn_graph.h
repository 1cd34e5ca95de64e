// A cuDNN graph as it is said, operation by operation.
#pragma once
#include <array>
#include <deque>

#include "engine/base/dtype.h"
#include "kernels/nvidia/cudnn.h"

namespace spire::inline kernels {

using CudnnAxes = std::array<int64_t, 4>;  // of tensors: extents or strides, in elements

// Throws Error(unexpected) for dtypes that no graph computes in.
cudnnDataType_t cudnn_dtype(DType dtype);

// Where the last axis is that of neighbours.
CudnnAxes dense_strides(const CudnnAxes& axes);
// Of the same elements with the last two axes swapped.
CudnnAxes transposed(const CudnnAxes& axes);

class CudnnGraph {
 public:
  // In memory, at 16 bytes; more is true mostly, and engines ask for no more. id is unique.
  const CudnnDescriptor& tensor(int64_t id, const CudnnAxes& axes, const CudnnAxes& strides,
                                cudnnDataType_t dtype);
  // Between two operations, and nowhere in memory.
  const CudnnDescriptor& inner(const CudnnAxes& axes, const CudnnAxes& strides,
                               cudnnDataType_t dtype = CUDNN_DATA_FLOAT);
  // fp32 in the host's memory, read as a run is put on its stream.
  const CudnnDescriptor& scalar(int64_t id);

  // All math is fp32.
  void pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                 const CudnnDescriptor& y);
  // y = mask ? x : otherwise
  void select(const CudnnDescriptor& mask, const CudnnDescriptor& x,
              const CudnnDescriptor& otherwise, const CudnnDescriptor& y);
  // y, of i32: each element's index along the axis.
  void index(const CudnnDescriptor& x, int64_t axis, const CudnnDescriptor& y);
  void matmul(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c);
  void reduce(cudnnReduceTensorOp_t by, const CudnnDescriptor& x, const CudnnDescriptor& y);
  void reshape(const CudnnDescriptor& x, const CudnnDescriptor& y);

  // For other operations, and what they refer to: descriptors that stay as long as the graph.
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(type); }
  void add_operation(CudnnDescriptor& operation);

  // Throws Error(device) where cuDNN refuses the graph.
  void finalize(const Cudnn& cudnn);
  const CudnnDescriptor& descriptor() const { return graph_; }

 private:
  CudnnDescriptor& add_tensor(int64_t id, const CudnnAxes& axes, const CudnnAxes& strides,
                              cudnnDataType_t dtype);
  CudnnDescriptor& add_pointwise(const CudnnDescriptor& what, const CudnnDescriptor& x,
                                 const CudnnDescriptor& y);
  CudnnDescriptor& pointwise_of(cudnnPointwiseMode_t mode);

  std::deque<CudnnDescriptor> parts_;
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t next_inner_ = 1000;  // above those of tensors in memory
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace spire::inline kernels

// Builder of a cuDNN operation graph: tensors first, then operations on them.
#pragma once
#include <array>
#include <deque>

#include <spire/tensor.h>

#include "kernels/cuda/cudnn.h"

namespace spire {

using CudnnAxes = std::array<int64_t, 4>;  // extents or strides of a tensor, in elements

// Throws Error(unexpected) for dtypes that no graph computes in.
cudnnDataType_t cudnn_dtype(DType dtype);

CudnnAxes dense_strides(const CudnnAxes& axes);  // row-major: the last axis is contiguous
CudnnAxes transposed(const CudnnAxes& axes);     // extents or strides, the last two axes swapped

class CudnnGraph {
 public:
  // Adds a tensor in memory, aligned to 16 bytes, the largest alignment that engines ask for. id:
  // unique in the graph.
  const CudnnDescriptor& tensor(int64_t id, const CudnnAxes& axes, const CudnnAxes& strides,
                                cudnnDataType_t dtype);
  // Adds a virtual tensor: it lies between two operations and never in memory.
  const CudnnDescriptor& virtual_tensor(const CudnnAxes& axes, const CudnnAxes& strides,
                                        cudnnDataType_t dtype = CUDNN_DATA_FLOAT);
  // Adds an fp32 number in host memory, which a run reads when it is submitted.
  const CudnnDescriptor& scalar(int64_t id);

  // Add operations, which all compute in fp32. b: null for a function of x alone.
  void pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor* b,
                 const CudnnDescriptor& y);
  void select(const CudnnDescriptor& mask, const CudnnDescriptor& x,  // y = mask ? x : otherwise
              const CudnnDescriptor& otherwise, const CudnnDescriptor& y);
  // y (i32) = each element's index along the axis
  void index(const CudnnDescriptor& x, int64_t axis, const CudnnDescriptor& y);
  void matmul(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c);
  void reduce(cudnnReduceTensorOp_t by, const CudnnDescriptor& x, const CudnnDescriptor& y);
  void reshape(const CudnnDescriptor& x, const CudnnDescriptor& y);

  // Adds a descriptor, which the graph owns: an operation, or an object that an operation refers
  // to. add_operation() then makes a finished operation part of the graph.
  CudnnDescriptor& add(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(type); }
  void add_operation(CudnnDescriptor& operation);

  void finalize(const Cudnn& cudnn);  // throws Error(device) if cuDNN refuses the graph
  const CudnnDescriptor& descriptor() const { return graph_; }

 private:
  CudnnDescriptor& add_tensor(int64_t id, const CudnnAxes& axes, const CudnnAxes& strides,
                              cudnnDataType_t dtype);
  CudnnDescriptor& add_pointwise(const CudnnDescriptor& function, const CudnnDescriptor& x,
                                 const CudnnDescriptor& y);
  CudnnDescriptor& add_function(cudnnPointwiseMode_t mode);

  std::deque<CudnnDescriptor> parts_;  // a deque, as operations refer to its elements
  std::vector<cudnnBackendDescriptor_t> operations_;
  int64_t next_virtual_ = 1000;  // unique ids, above those of tensors in memory
  CudnnDescriptor graph_{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
};

}  // namespace spire

#include "kernels/cuda/cudnn_graph.h"

#include <utility>

#include "engine/base/fail.h"

namespace spire {

cudnnDataType_t cudnn_dtype(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
    default:
      fail(Category::unexpected, "no graph of {}", to_string(dtype));
  }
}

CudnnAxes dense_strides(const CudnnAxes& a) {
  return {a[1] * a[2] * a[3], a[2] * a[3], a[3], 1};
}

CudnnAxes transposed(const CudnnAxes& a) {
  return {a[0], a[1], a[3], a[2]};
}

const CudnnDescriptor& CudnnGraph::tensor(int64_t id, const CudnnAxes& axes,
                                          const CudnnAxes& strides, cudnnDataType_t dtype) {
  CudnnDescriptor& made = add_tensor(id, axes, strides, dtype);
  made.finalize();
  return made;
}

const CudnnDescriptor& CudnnGraph::virtual_tensor(const CudnnAxes& axes, const CudnnAxes& strides,
                                                  cudnnDataType_t dtype) {
  CudnnDescriptor& made = add_tensor(next_virtual_++, axes, strides, dtype);
  made.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  made.finalize();
  return made;
}

const CudnnDescriptor& CudnnGraph::scalar(int64_t id) {
  CudnnDescriptor& made = add_tensor(id, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  made.finalize();
  return made;
}

CudnnDescriptor& CudnnGraph::add_tensor(int64_t id, const CudnnAxes& axes, const CudnnAxes& strides,
                                        cudnnDataType_t dtype) {
  CudnnDescriptor& made = add(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, dtype);
  made.set_all(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(axes));
  made.set_all(CUDNN_ATTR_TENSOR_STRIDES, std::span<const int64_t>(strides));
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t{16});
  return made;
}

// The function of a pointwise operation, without its operands.
CudnnDescriptor& CudnnGraph::add_function(cudnnPointwiseMode_t mode) {
  CudnnDescriptor& function = add(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  return function;
}

CudnnDescriptor& CudnnGraph::add_pointwise(const CudnnDescriptor& function,
                                           const CudnnDescriptor& x, const CudnnDescriptor& y) {
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  return op;
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                           const CudnnDescriptor* b, const CudnnDescriptor& y) {
  CudnnDescriptor& function = add_function(mode);
  function.finalize();
  CudnnDescriptor& op = add_pointwise(function, x, y);
  if (b) op.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  add_operation(op);
}

void CudnnGraph::select(const CudnnDescriptor& mask, const CudnnDescriptor& x,
                        const CudnnDescriptor& otherwise, const CudnnDescriptor& y) {
  CudnnDescriptor& function = add_function(CUDNN_POINTWISE_BINARY_SELECT);
  function.finalize();
  CudnnDescriptor& op = add_pointwise(function, x, y);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, otherwise);
  op.link(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, mask);
  add_operation(op);
}

void CudnnGraph::index(const CudnnDescriptor& x, int64_t axis, const CudnnDescriptor& y) {
  CudnnDescriptor& function = add_function(CUDNN_POINTWISE_GEN_INDEX);
  function.set(CUDNN_ATTR_POINTWISE_AXIS, axis);
  function.finalize();
  add_operation(add_pointwise(function, x, y));
}

void CudnnGraph::matmul(const CudnnDescriptor& a, const CudnnDescriptor& b,
                        const CudnnDescriptor& c) {
  CudnnDescriptor& function = add(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  function.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_DATA_FLOAT);
  function.finalize();
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_MATMUL_DESC, function);
  op.link(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a);
  op.link(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b);
  op.link(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c);
  add_operation(op);
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t by, const CudnnDescriptor& x,
                        const CudnnDescriptor& y) {
  CudnnDescriptor& function = add(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  function.set(CUDNN_ATTR_REDUCTION_OPERATOR, by);
  function.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  function.finalize();
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_REDUCTION_DESC, function);
  op.link(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
  op.link(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
  add_operation(op);
}

void CudnnGraph::reshape(const CudnnDescriptor& x, const CudnnDescriptor& y) {
  CudnnDescriptor& op = add(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  op.link(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
  op.link(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
  add_operation(op);
}

// Operations run in the order in which they are added.
void CudnnGraph::add_operation(CudnnDescriptor& operation) {
  operation.finalize();
  operations_.push_back(operation.get());
}

void CudnnGraph::finalize(const Cudnn& cudnn) {
  cudnn.set_handle(graph_, CUDNN_ATTR_OPERATIONGRAPH_HANDLE);
  graph_.link_all(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
  graph_.finalize();
}

}  // namespace spire

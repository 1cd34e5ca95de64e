// Views of tensors as Eigen's matrices, so that float64 references read like their formulas.
#pragma once
#include <Eigen/Core>
#include <tests/kernels/op_test.h>

namespace spire::testing {

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Views a tensor (.., C) as a matrix of C columns.
inline Eigen::Map<const RowMajorMatrix> matrix_of(const HostTensor& tensor) {
  int64_t columns = tensor.shape.back();
  return {tensor.data.data(), tensor.size() / columns, columns};
}
inline Eigen::Map<RowMajorMatrix> matrix_of(HostTensor& tensor) {
  int64_t columns = tensor.shape.back();
  return {tensor.data.data(), tensor.size() / columns, columns};
}

// Views matrix `index` of a tensor (.., M, N), whose leading axes are counted as one.
inline Eigen::Map<const RowMajorMatrix> matrix_of(const HostTensor& tensor, int64_t index) {
  int64_t columns = tensor.shape.back(), rows = tensor.shape[tensor.shape.rank() - 2];
  return {tensor.data.data() + index * rows * columns, rows, columns};
}
inline Eigen::Map<RowMajorMatrix> matrix_of(HostTensor& tensor, int64_t index) {
  int64_t columns = tensor.shape.back(), rows = tensor.shape[tensor.shape.rank() - 2];
  return {tensor.data.data() + index * rows * columns, rows, columns};
}

// Views all elements as one array.
inline Eigen::Map<const Eigen::ArrayXd> array_of(const HostTensor& tensor) {
  return {tensor.data.data(), tensor.size()};
}
inline Eigen::Map<Eigen::ArrayXd> array_of(HostTensor& tensor) {
  return {tensor.data.data(), tensor.size()};
}

}  // namespace spire::testing

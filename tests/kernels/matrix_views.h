// Views of tensors as Eigen's matrices, so that float64 references read like their formulas.
#pragma once
#include <type_traits>

#include <Eigen/Core>
#include <tests/kernels/op_test.h>

namespace spire::testing {

using RowMajorMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A view of a tensor's elements, as constant as they are.
template <typename Tensor, typename Elements>
using View = Eigen::Map<std::conditional_t<std::is_const_v<Tensor>, const Elements, Elements>>;

// Views a tensor (.., C) as a matrix of C columns.
template <typename Tensor>
View<Tensor, RowMajorMatrix> matrix_of(Tensor& tensor) {
  int64_t columns = tensor.shape.back();
  return {tensor.data.data(), tensor.size() / columns, columns};
}

// Views matrix `index` of a tensor (.., M, N), whose leading axes are counted as one.
template <typename Tensor>
View<Tensor, RowMajorMatrix> matrix_of(Tensor& tensor, int64_t index) {
  int64_t columns = tensor.shape.back(), rows = tensor.shape[tensor.shape.rank() - 2];
  return {tensor.data.data() + index * rows * columns, rows, columns};
}

// Views all elements as one array.
template <typename Tensor>
View<Tensor, Eigen::ArrayXd> array_of(Tensor& tensor) {
  return {tensor.data.data(), tensor.size()};
}

}  // namespace spire::testing

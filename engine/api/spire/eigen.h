// Matrices, maps and expressions with memory of Eigen as arrays of samples, and outputs as matrices
// of Eigen, without copies. For programs that have Eigen >= 3.4: <spire/spire.h> does not include
// it.
#pragma once
#include <span>
#include <string>

#include <Eigen/Core>

#include <spire/dataset.h>

namespace spire {

// matrix: (N, F), a row per sample, of any storage order and strides; for labels a column vector
// (N). It must stay as it is for as long as the array is used.
template <typename Matrix>
Array array(std::string column, const Eigen::DenseBase<Matrix>& matrix) {
  static_assert(Eigen::internal::traits<Matrix>::Flags & Eigen::DirectAccessBit,
                "an expression of Eigen has no memory of its own; evaluate it first");
  const Matrix& m = matrix.derived();
  int64_t row = Matrix::IsRowMajor ? m.outerStride() : m.innerStride();
  int64_t number = Matrix::IsRowMajor ? m.innerStride() : m.outerStride();
  if (column == "labels" || column == "other_labels" || column == "mix")
    return array(std::move(column), m.data(), {m.rows()}, {row});
  return array(std::move(column), m.data(), {m.rows(), m.cols()}, {row, number});
}

using OutputMatrix =
    Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

// Outputs (rows, ...) as Trainer::predict() and InferenceSession::predict() write them.
inline OutputMatrix matrix_of(std::span<float> outputs, int64_t rows) {
  return OutputMatrix(outputs.data(), rows,
                      rows > 0 ? static_cast<int64_t>(outputs.size()) / rows : 0);
}

}  // namespace spire

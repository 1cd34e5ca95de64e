#include "engine/update/tensor_norms.h"

#include "engine/collective/tree.h"

namespace spire::inline update {

TensorNorms::TensorNorms(const std::vector<WeightSpan>& spans) {
  size_t cells = 0;
  for (const WeightSpan& span : spans) {
    int64_t first = span.range.begin / TreeSum::chunk;
    int64_t last = (span.range.end + TreeSum::chunk - 1) / TreeSum::chunk;
    size_t begin = cells;
    if (span.adapts) cells += static_cast<size_t>(last - first);
    spans_.push_back({first, {begin, cells}});
  }
  size_ = 2 * cells;
}

void TensorNorms::allocate(MemoryPool& memory) {
  memory_ = memory.allocate(MemoryKind::optimizer, bytes());
  memory_->write(std::vector<double>(size_).data(), bytes());
}

size_t TensorNorms::cell(size_t span, int64_t begin) const {
  const Span& at = spans_[span];
  return at.cells.begin + static_cast<size_t>(begin / TreeSum::chunk - at.first_chunk);
}

void TensorNorms::set(size_t cell, const TrustSquares& squares) {
  table()[2 * cell] = squares.weights;
  table()[2 * cell + 1] = squares.update;
}

TrustSquares TensorNorms::total(size_t span) const {
  TrustSquares sum;
  for (size_t cell = cells(span).begin; cell < cells(span).end; ++cell) {
    sum.weights += table()[2 * cell];
    sum.update += table()[2 * cell + 1];
  }
  return sum;
}

std::vector<int> TensorNorms::owners(const std::vector<int>& chunk_owners) const {
  std::vector<int> owners;
  for (const Span& span : spans_) {
    auto chunk = static_cast<size_t>(span.first_chunk);
    for (size_t cell = span.cells.begin; cell < span.cells.end; ++cell, ++chunk)
      owners.insert(owners.end(), 2, chunk_owners[chunk]);
  }
  return owners;
}

}  // namespace spire::inline update

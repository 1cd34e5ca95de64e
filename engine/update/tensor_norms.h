// Norms of whole tensors for layer-wise optimizers, the same whoever owns which slices. A cell is
// what of a tensor lies in one chunk of the flat buffer: its owner writes the cell's sums of
// squares; a tensor's are those of its cells, added up in order.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "engine/device/memory_pool.h"
#include "engine/optim/formulas.h"
#include "engine/update/weight_spans.h"

namespace spire::inline update {

class TensorNorms {
 public:
  // Cells of those spans that are tensors with a trust ratio.
  explicit TensorNorms(const std::vector<WeightSpan>& spans);
  size_t bytes() const { return size_ * sizeof(double); }
  void allocate(MemoryPool& memory);  // all zero; before table(), set() and total()

  // The cell of span `span` that the float at `begin` lies in. REQUIRES: the span adapts.
  size_t cell(size_t span, int64_t begin) const;
  // Those of a span, in order; none where it does not adapt.
  struct Cells {
    size_t begin = 0, end = 0;
  };
  Cells cells(size_t span) const { return spans_[span].cells; }

  // REQUIRES for both: a CPU's memory. Cells may be set by several threads at a time.
  void set(size_t cell, const TrustSquares& squares);
  TrustSquares total(size_t span) const;

  // In the device's memory: two entries a cell, of the weights and of the update. It is what
  // processes have to tell each other. owners: whose the entries are, chunk_owners being a rank for
  // each chunk of the flat buffer.
  std::span<double> table() const { return {memory_->as<double>(), size_}; }
  std::vector<int> owners(const std::vector<int>& chunk_owners) const;

 private:
  struct Span {
    int64_t first_chunk = 0;  // of the flat buffer
    Cells cells;
  };
  std::vector<Span> spans_;
  size_t size_ = 0;  // of the table
  std::unique_ptr<DeviceMemory> memory_;
};

}  // namespace spire::inline update

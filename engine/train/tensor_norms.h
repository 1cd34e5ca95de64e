// Norms of whole tensors for layer-wise optimizers, the same whoever owns which slices. A cell is
// what of a tensor lies in one chunk of the flat buffer: its owner writes the cell's sums of
// squares; a tensor's are those of its cells, added up in order.
#pragma once
#include <span>
#include <vector>

#include <spire/optim/trust.h>
#include <spire/train/weight_spans.h>

namespace spire {

class TensorNorms {
 public:
  // Cells of those spans that are tensors with a trust ratio.
  explicit TensorNorms(const std::vector<WeightSpan>& spans);

  // The cell of span `span` that the float at `begin` lies in. REQUIRES: the span adapts.
  size_t cell(size_t span, int64_t begin) const;
  // Cells may be set by several threads at a time.
  void set(size_t cell, const TrustSquares& squares);
  TrustSquares total(size_t span) const;

  // What processes have to tell each other: two entries a cell, and whose they are. chunk_owners: a
  // rank for each chunk of the flat buffer.
  std::span<double> table() { return table_; }
  std::vector<int> owners(const std::vector<int>& chunk_owners) const;

 private:
  struct Cells {                // of a span
    int64_t first_chunk = 0;    // of the flat buffer
    size_t begin = 0, end = 0;  // none where it does not adapt
  };
  std::vector<Cells> cells_;  // one a span
  std::vector<double> table_;
};

}  // namespace spire

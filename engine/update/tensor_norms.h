// Spans of weights that an optimizer treats alike, and the norms of whole tensors for layer-wise
// optimizers (LARS, LAMB). The norms have the same bits whichever device owns which weights: a
// tensor is cut into cells, one a chunk of the flat buffer; a cell's owner writes the cell's sums
// of squares, and every device adds up all cells of a tensor in order.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/tree.h"
#include "engine/device/memory_pool.h"
#include "engine/graph/parameter_layout.h"
#include "engine/optim/formulas.h"

namespace spire::inline update {

// A range of the flat weights that the optimizer treats alike.
struct WeightSpan {
  FloatRange range;     // whole parameters, each with the padding behind it
  float decay = 1.0f;   // factor of optimizer.weight_decay
  bool adapts = false;  // a single tensor with a trust ratio
};

// True where two axes or more are longer than 1: weights of convolutions, dense layers, embeddings;
// not biases, nor gamma and beta of norms.
bool is_matrix(const Shape& shape);

// Cuts [0, trained_floats()) into the fewest spans, in order. layerwise: each matrix is a span that
// adapts.
std::vector<WeightSpan> weight_spans(const OptimizerConfig& config, bool layerwise,
                                     const ParameterLayout& layout);

class TensorNorms {
 public:
  // Makes cells for the spans that adapt.
  explicit TensorNorms(const std::vector<WeightSpan>& spans);
  size_t bytes() const { return size_ * sizeof(double); }
  void allocate(MemoryPool& memory);  // zeros; REQUIRED before table(), set() and total()

  // Index of the cell that holds the float at `begin` of span `span`. REQUIRES: the span adapts.
  size_t cell(size_t span, int64_t begin) const;
  // Cells [begin, end) of a span; empty where it does not adapt.
  struct Cells {
    size_t begin = 0, end = 0;
  };
  Cells cells(size_t span) const { return spans_[span].cells; }

  // Writes one cell, and adds up a span's. REQUIRES: a CPU's memory. Several threads may set
  // different cells at a time.
  void set(size_t cell, const TrustSquares& squares);
  TrustSquares total(size_t span) const;

  // The cells in the device's memory: two fp64 numbers each, the squares of the weights and of the
  // update. Members exchange this table.
  // owners(): the member that writes each entry; chunk_owners: the owner of each chunk of the flat
  // buffer.
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

// Cuts the flat buffer of weights for an update: into spans that the optimizer treats alike, pieces
// that one device updates, and cells in which layer-wise optimizers store partial norms of tensors.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include <spire/run_config.h>
#include <spire/tensor.h>

#include "engine/device/memory_pool.h"
#include "engine/graph/parameter_layout.h"
#include "engine/update/tree.h"
#include "engine/update/update_launches.h"

namespace spire {

// A range of the flat weights that the optimizer treats alike.
struct WeightSpan {
  FloatRange range;     // whole parameters, each followed by its padding
  float decay = 1.0f;   // factor of optimizer.weight_decay
  float lr = 1.0f;      // factor of optimizer.lr
  bool adapts = false;  // the span is a single tensor with a trust ratio (LARS, LAMB)
};

// Returns whether two axes or more are longer than 1: false for biases, and for gamma and beta of
// norms.
bool is_matrix(const Shape& shape);

// Throws Error(config) for a pattern of optimizer.lr_factors or decay_factors that matches no
// trained parameter, or only parameters that earlier patterns match, too.
void check_factors(const OptimizerConfig& config, const ParameterLayout& layout);

// Cuts [0, trained_floats()) into the fewest spans. For a layer-wise optimizer each matrix is a
// span of its own, which adapts. Throws what check_factors() throws.
std::vector<WeightSpan> weight_spans(const OptimizerConfig& config, const ParameterLayout& layout);

// Norms of whole tensors for layer-wise optimizers (LARS, LAMB), with bits that do not depend on
// which device owns which weights. A tensor has one cell per chunk of the flat buffer. The owner of
// the chunk writes the cell, and every device adds up all cells of a tensor in order.
class TensorNorms {
 public:
  explicit TensorNorms(const std::vector<WeightSpan>& spans);  // makes cells for those that adapt
  // Other spans, of which the same tensors adapt; cells and table stay.
  void number(const std::vector<WeightSpan>& spans);
  size_t bytes() const { return size_ * sizeof(double); }
  void allocate(MemoryPool& memory);  // fills with zeros; call it before table(), set(), total()

  // Returns the cell for the float at `begin` of span number `span`. REQUIRES: the span adapts.
  size_t cell(size_t span, int64_t begin) const;
  struct Cells {
    size_t begin = 0, end = 0;
  };
  Cells cells(size_t span) const { return spans_[span].cells; }  // empty unless it adapts

  // REQUIRE: the table is in host memory. Several threads may set different cells at the same time.
  void set(size_t cell, const TrustSquares& squares);
  TrustSquares total(size_t span) const;

  // All cells, in device memory: each the sums of squares of the weights and of the update.
  std::span<double> table() const { return {memory_->as<double>(), size_}; }
  // chunks: ranges of chunk indices. Returns the ranges of the table's numbers that belong to them.
  std::vector<FloatRange> of_chunks(const std::vector<FloatRange>& chunks) const;

 private:
  struct Span {
    int64_t first_chunk = 0;  // first chunk of the flat buffer
    Cells cells;
  };
  std::vector<Span> spans_;
  size_t size_ = 0;  // numbers in the table
  std::unique_ptr<DeviceMemory> memory_;
};

// Everything that one device updates.
struct UpdatePieces {
  std::vector<UpdatePiece> weights;
  std::vector<StatisticPiece> statistics;

  int64_t state_floats() const {
    return weights.empty() ? 0 : weights.back().state + weights.back().count;
  }
  size_t slot_bytes() const { return static_cast<size_t>(state_floats()) * sizeof(float); }

  // Calls body(begin, count, state) for the part of each weight piece that lies in the window.
  template <typename Body>
  void for_each_part(FloatRange window, const Body& body) const {
    for (const UpdatePiece& piece : weights) {
      FloatRange part = common({piece.begin, piece.begin + piece.count}, window);
      if (part.size() > 0) body(part.begin, part.size(), piece.state + (part.begin - piece.begin));
    }
  }
};

// The numbers of pieces that cut_into_pieces() makes, and of floats of state in each slot. They are
// counted without making the pieces, which for a plan of an absurd size would fit in no memory.
struct PieceCounts {
  size_t weights = 0, statistics = 0;
  int64_t state_floats = 0;
};
PieceCounts count_pieces(const std::vector<FloatRange>& owned, const std::vector<WeightSpan>& spans,
                         const ParameterLayout& layout);

// Cuts the owned ranges, which begin at multiples of TreeSum::chunk. norms: null if not layer-wise.
UpdatePieces cut_into_pieces(const std::vector<FloatRange>& owned,
                             const std::vector<WeightSpan>& spans, const ParameterLayout& layout,
                             const TensorNorms* norms);

}  // namespace spire

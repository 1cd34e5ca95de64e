// The weights and running statistics that one device updates, cut into pieces. A piece lies in one
// chunk of the flat buffer and in one span, so it has one decay, one trust ratio and one norm cell,
// and a GPU gives each piece a block.
#pragma once
#include <vector>

#include "engine/base/dtype.h"
#include "engine/collective/tree.h"
#include "engine/graph/parameter_layout.h"
#include "engine/update/tensor_norms.h"

namespace spire::inline update {

struct UpdatePiece {
  int64_t begin = 0, count = 0;  // weights, as floats of the flat buffer
  int64_t state = 0;             // offset of its optimizer state in every slot
  float decay = 1.0f;
  size_t span = 0, cell = 0;  // cell: of TensorNorms; unused unless the span adapts
  bool adapts = false;
};

// A running mean or variance of batch normalization.
struct StatisticPiece {
  int64_t begin = 0, count = 0;  // floats of the flat buffer
  float momentum = 0;

  // sum: the step's statistic, averaged over towers by the reduction.
  SPIRE_HOST_DEVICE void update(float sum, float& running) const {
    running = (1.0f - momentum) * running + momentum * sum;
  }
};

struct UpdatePieces {
  std::vector<UpdatePiece> weights;
  std::vector<StatisticPiece> statistics;

  int64_t state_floats() const {
    return weights.empty() ? 0 : weights.back().state + weights.back().count;
  }
  // Calls body(begin, count, state) for the part of each weight piece that lies in the window.
  template <typename Body>
  void for_each_part(FloatRange window, const Body& body) const {
    for (const UpdatePiece& piece : weights) {
      FloatRange part = common({piece.begin, piece.begin + piece.count}, window);
      if (part.size() > 0) body(part.begin, part.size(), piece.state + (part.begin - piece.begin));
    }
  }

  size_t slot_bytes() const { return static_cast<size_t>(state_floats()) * sizeof(float); }
};

// Cuts the owned ranges, which begin at multiples of TreeSum::chunk. norms: null without layer-wise
// optimizers.
UpdatePieces cut_into_pieces(const std::vector<FloatRange>& owned,
                             const std::vector<WeightSpan>& spans, const ParameterLayout& layout,
                             const TensorNorms* norms);

}  // namespace spire::inline update

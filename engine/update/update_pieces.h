// What of the flat buffer a device updates, cut so that each piece lies in one chunk and one span.
#pragma once
#include <vector>

#include "engine/base/dtype.h"
#include "engine/collective/buckets.h"
#include "engine/graph/parameter_layout.h"
#include "engine/update/tensor_norms.h"
#include "engine/update/weight_spans.h"

namespace spire::inline update {

struct UpdatePiece {  // of weights
  int64_t begin = 0, count = 0;
  int64_t state = 0;  // where its optimizer state begins in the slots
  float decay = 1.0f;
  size_t span = 0, cell = 0;  // cell: of the norms; unused unless the span adapts
  bool adapts = false;
};

struct StatisticPiece {  // of a running statistic
  int64_t begin = 0, count = 0;
  float momentum = 0;

  // sum: over towers, of the step's statistic.
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
  // body(begin, count, state) for what of each piece of weights lies in the window.
  template <typename Body>
  void for_each_part(FloatRange window, const Body& body) const {
    for (const UpdatePiece& piece : weights) {
      FloatRange part = common({piece.begin, piece.begin + piece.count}, window);
      if (part.size() > 0) body(part.begin, part.size(), piece.state + (part.begin - piece.begin));
    }
  }

  size_t slot_bytes() const { return static_cast<size_t>(state_floats()) * sizeof(float); }
};

// owned: ranges that begin with a chunk. norms: null without layer-wise rates.
UpdatePieces cut_into_pieces(const std::vector<FloatRange>& owned,
                             const std::vector<WeightSpan>& spans, const ParameterLayout& layout,
                             const TensorNorms* norms);

}  // namespace spire::inline update

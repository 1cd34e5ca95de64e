#include "engine/update/update_pieces.h"

#include <algorithm>

#include <spire/error.h>

#include "engine/collective/tree.h"

namespace spire::inline update {
namespace {

// Cuts the part of each span that lies in the range, at the ends of chunks.
void add_weights(FloatRange range, const std::vector<WeightSpan>& spans, const TensorNorms* norms,
                 UpdatePieces& pieces) {
  for (size_t i = 0; i < spans.size(); ++i) {
    const WeightSpan& span = spans[i];
    require(!span.adapts || norms, "a layer-wise optimizer without norms");
    int64_t end = std::min(range.end, span.range.end);
    for (int64_t begin = std::max(range.begin, span.range.begin), next; begin < end; begin = next) {
      next = std::min(end, (begin / TreeSum::chunk + 1) * TreeSum::chunk);
      size_t cell = span.adapts ? norms->cell(i, begin) : 0;
      pieces.weights.push_back(
          {begin, next - begin, pieces.state_floats(), span.decay, i, cell, span.adapts});
    }
  }
}

// Running statistics follow the trained weights in the flat buffer.
void add_statistics(FloatRange range, const ParameterLayout& layout, UpdatePieces& pieces) {
  for (const auto& entry : layout.entries()) {
    if (entry.trained) continue;
    int64_t begin = std::max(range.begin, entry.offset);
    int64_t end = std::min(range.end, entry.offset + entry.elements());
    if (begin < end) pieces.statistics.push_back({begin, end - begin, entry.momentum});
  }
}

}  // namespace

UpdatePieces cut_into_pieces(const std::vector<FloatRange>& owned,
                             const std::vector<WeightSpan>& spans, const ParameterLayout& layout,
                             const TensorNorms* norms) {
  UpdatePieces pieces;
  for (FloatRange range : owned) {
    add_weights(range, spans, norms, pieces);
    add_statistics(range, layout, pieces);
  }
  return pieces;
}

}  // namespace spire::inline update

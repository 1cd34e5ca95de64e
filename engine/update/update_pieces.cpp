#include "engine/update/update_pieces.h"

#include <algorithm>

#include "engine/base/fail.h"
#include "engine/base/name_patterns.h"
#include "engine/base/text.h"
#include "engine/update/optimizer.h"
#include "engine/update/tree.h"

namespace spire {
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
          {begin, next - begin, pieces.state_floats(), span.decay, span.lr, i, cell, span.adapts});
    }
  }
}

// Running statistics follow the trained weights in the flat buffer; the owned ranges end with them.
void add_statistics(FloatRange range, const ParameterLayout& layout, UpdatePieces& pieces) {
  for (const auto& entry : layout.entries()) {
    if (!entry.statistic) continue;
    int64_t begin = std::max(range.begin, entry.offset);
    int64_t end = std::min(range.end, entry.offset + entry.elements());
    if (begin < end) pieces.statistics.push_back({begin, end - begin, entry.momentum});
  }
}

// The factors of a key of the config by the names of parameters.
class WeightFactors {
 public:
  WeightFactors(const char* key, const std::vector<WeightFactor>& factors,
                const ParameterLayout& layout)
      : key_(key), factors_(factors) {
    for (const WeightFactor& factor : factors) patterns_.push_back(factor.pattern);
    std::vector<std::string> trained, frozen;
    for (const ParameterEntry& entry : layout.entries())
      if (entry.is_parameter()) (entry.frozen ? frozen : trained).push_back(entry.name);
    for (const std::string& pattern : patterns_) {
      auto matched = [&](const std::string& name) { return matches(pattern, name); };
      if (std::ranges::none_of(trained, matched) && std::ranges::any_of(frozen, matched))
        fail(Category::config,
             "{}: '{}' matches frozen parameters only; remove it, or do not freeze them", key_,
             printable(pattern));
    }
    require_matches(key_, patterns_, trained);
    for (size_t i = 0; i < patterns_.size(); ++i) require_effect(i, trained);
  }

  float of(const std::string& name) const {
    auto index = first_match(patterns_, name);
    return index ? static_cast<float>(factors_[*index].factor) : 1.0f;
  }

 private:
  // REQUIRES: the pattern matches a name.
  void require_effect(size_t pattern, const std::vector<std::string>& names) const {
    size_t earlier = pattern;
    for (const std::string& name : names) {
      auto first = first_match(patterns_, name);
      if (first == pattern) return;
      if (first && matches(patterns_[pattern], name)) earlier = *first;
    }
    fail(Category::config,
         "{}: '{}' never counts: '{}' is before it and matches the same parameters; put it first",
         key_, printable(patterns_[pattern]), printable(patterns_[earlier]));
  }

  const char* key_;
  const std::vector<WeightFactor>& factors_;
  std::vector<std::string> patterns_;
};

struct FactorsOfWeights {
  FactorsOfWeights(const OptimizerConfig& config, const ParameterLayout& layout)
      : lr("optimizer.lr_factors", config.lr_factors, layout),
        decay("optimizer.decay_factors", config.decay_factors, layout) {}
  WeightFactors lr, decay;
};

}  // namespace

// Weights of convolutions, dense layers and embeddings.
bool is_matrix(const Shape& shape) {
  int wide = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) wide += shape[axis] > 1 ? 1 : 0;
  return wide >= 2;
}

void check_factors(const OptimizerConfig& config, const ParameterLayout& layout) {
  FactorsOfWeights factors(config, layout);
}

std::vector<WeightSpan> weight_spans(const OptimizerConfig& config, const ParameterLayout& layout) {
  std::vector<WeightSpan> spans;
  const bool layerwise = is_layerwise(config);
  const FactorsOfWeights factors(config, layout);
  for (const ParameterEntry& entry : layout.entries()) {
    if (!entry.trained()) continue;
    bool matrix = is_matrix(entry.shape), adapts = layerwise && matrix;
    float decay = config.decay == OptimizerConfig::Decay::all || matrix ? 1.0f : 0.0f;
    if (!spans.empty()) spans.back().range.end = entry.offset;  // with the padding
    // Neighbours with the same factors become one span, and so one piece a chunk.
    float lr = factors.lr.of(entry.name);
    decay *= factors.decay.of(entry.name);
    bool joins = !spans.empty() && !adapts && !spans.back().adapts && spans.back().decay == decay &&
                 spans.back().lr == lr;
    if (!joins) spans.push_back({{entry.offset, 0}, decay, lr, adapts});
  }
  if (!spans.empty()) spans.back().range.end = layout.trained_floats();
  return spans;
}

TensorNorms::TensorNorms(const std::vector<WeightSpan>& spans) {
  number(spans);
}

// Cells are numbered over all spans; a span that does not adapt has none.
void TensorNorms::number(const std::vector<WeightSpan>& spans) {
  spans_.clear();
  size_t cells = 0;
  for (const WeightSpan& span : spans) {
    int64_t first = span.range.begin / TreeSum::chunk;
    int64_t last = TreeSum::chunks_of(span.range.end);
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
  TrustSquares sum;  // in the order of the cells: the same bits on every device
  for (size_t cell = cells(span).begin; cell < cells(span).end; ++cell) {
    sum.weights += table()[2 * cell];
    sum.update += table()[2 * cell + 1];
  }
  return sum;
}

// Two numbers a cell.
std::vector<FloatRange> TensorNorms::of_chunks(const std::vector<FloatRange>& chunks) const {
  std::vector<FloatRange> numbers;
  for (const Span& span : spans_) {
    auto begin = static_cast<int64_t>(span.cells.begin), end = static_cast<int64_t>(span.cells.end);
    int64_t to_cell = begin - span.first_chunk;
    for (FloatRange chunk : chunks) {
      FloatRange own = common({chunk.begin + to_cell, chunk.end + to_cell}, {begin, end});
      if (own.size() > 0) numbers.push_back({2 * own.begin, 2 * own.end});
    }
  }
  return numbers;
}

PieceCounts count_pieces(const std::vector<FloatRange>& owned, const std::vector<WeightSpan>& spans,
                         const ParameterLayout& layout) {
  PieceCounts counts;
  for (FloatRange range : owned) {
    for (const WeightSpan& span : spans) {
      FloatRange part = common(range, span.range);
      if (part.size() <= 0) continue;
      int64_t first = part.begin / TreeSum::chunk;
      counts.weights += static_cast<size_t>(TreeSum::chunks_of(part.end) - first);
      counts.state_floats += part.size();
    }
    UpdatePieces statistics;
    add_statistics(range, layout, statistics);
    counts.statistics += statistics.statistics.size();
  }
  return counts;
}

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

}  // namespace spire

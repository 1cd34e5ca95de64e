#include <spire/train/parameter_update.h>

#include <algorithm>
#include <cstring>

#include <spire/collective/tree.h>

namespace spire {
namespace {

// Entries of part `part` of `parts` of a list.
template <typename T, typename Body>
void for_part(const std::vector<T>& list, int part, int parts, Body&& body) {
  auto at = [&](int p) {
    return list.size() * static_cast<size_t>(p) / static_cast<size_t>(parts);
  };
  for (size_t i = at(part); i < at(part + 1); ++i) body(list[i]);
}

}  // namespace

ParameterUpdate::ParameterUpdate(const Options& options, const ParameterLayout& layout)
    : options_(options), optimizer_(make_optimizer(options.optimizer)), ema_(options.ema) {
  require(!optimizer_->layerwise() || options.norms, "a layer-wise optimizer without norms");
  for (FloatRange range : options.owned) {
    add_pieces(range);
    add_statistics(layout, range);
  }
  size_t slots = optimizer_->slots().size() + (ema_.on() ? 1 : 0);
  for (size_t i = 0; i < slots; ++i)
    slots_.emplace_back(static_cast<size_t>(state_floats()) * sizeof(float));
  slot_pointers_.resize(static_cast<size_t>(options_.parts), std::vector<float*>(slots_.size()));
}

int64_t ParameterUpdate::state_floats() const {
  return pieces_.empty() ? 0 : pieces_.back().state + pieces_.back().count;
}

// Cut where chunks and spans end. REQUIRES: the range begins with a chunk.
void ParameterUpdate::add_pieces(FloatRange range) {
  for (size_t i = 0; i < options_.spans.size(); ++i) {
    const WeightSpan& span = options_.spans[i];
    int64_t end = std::min(range.end, span.range.end);
    for (int64_t begin = std::max(range.begin, span.range.begin), next; begin < end; begin = next) {
      next = std::min(end, (begin / TreeSum::chunk + 1) * TreeSum::chunk);
      size_t cell = span.adapts ? options_.norms->cell(i, begin) : 0;
      pieces_.push_back({begin, next - begin, state_floats(), span.decay, i, cell, span.adapts});
    }
  }
}

void ParameterUpdate::add_statistics(const ParameterLayout& layout, FloatRange range) {
  for (const auto& entry : layout.entries()) {
    if (entry.trained) continue;
    int64_t begin = std::max(range.begin, entry.offset);
    int64_t end = std::min(range.end, entry.offset + entry.elements());
    if (begin < end) statistics_.push_back({begin, end - begin, entry.momentum});
  }
}

UpdateSlice ParameterUpdate::slice_of(int part, const Piece& piece) {
  auto& pointers = slot_pointers_[static_cast<size_t>(part)];
  for (size_t i = 0; i < slots_.size(); ++i) pointers[i] = slots_[i].as<float>() + piece.state;
  return {.count = piece.count,
          .gradients = options_.sums + piece.begin,
          .weights = options_.weights + piece.begin,
          .slots = pointers,
          .decay = piece.decay};
}

void ParameterUpdate::measure(int part, const UpdateStep& step) {
  for_part(pieces_, part, options_.parts, [&](const Piece& piece) {
    TrustSquares squares = optimizer_->measure(step, slice_of(part, piece));
    if (piece.adapts) options_.norms->set(piece.cell, squares);
  });
}

float ParameterUpdate::trust_ratio(const Piece& piece) const {
  if (!piece.adapts) return 1.0f;
  return optimizer_->trust_ratio(options_.norms->total(piece.span), piece.decay);
}

void ParameterUpdate::update(int part, const UpdateStep& step) {
  const Piece* former = nullptr;
  float ratio = 1.0f;
  for_part(pieces_, part, options_.parts, [&](const Piece& piece) {
    if (!former || former->span != piece.span) ratio = trust_ratio(piece);
    former = &piece;
    UpdateSlice slice = slice_of(part, piece);
    slice.trust_ratio = ratio;
    optimizer_->update(step, slice);
    if (ema_.on()) ema_.update(step.step, slice.count, slice.weights, slice.slots.back());
  });
  for_part(statistics_, part, options_.parts, [&](const Statistic& s) { update_statistic(s); });
}

// running = (1 - momentum) * running + momentum * sum over towers.
void ParameterUpdate::update_statistic(const Statistic& s) {
  float* running = options_.weights + s.begin;
  const float* sum = options_.sums + s.begin;
  for (int64_t i = 0; i < s.count; ++i)
    running[i] = (1.0f - s.momentum) * running[i] + s.momentum * sum[i];
}

void ParameterUpdate::begin_average() {
  if (ema_.on()) copy_state_in(slots_.size() - 1, options_.weights);
}

void ParameterUpdate::swap_average(int part) {
  for_part(pieces_, part, options_.parts, [&](const Piece& piece) {
    float* weights = options_.weights + piece.begin;
    std::swap_ranges(weights, weights + piece.count, slots_.back().as<float>() + piece.state);
  });
}

void ParameterUpdate::copy_state_out(size_t slot, float* flat) const {
  for (const Piece& p : pieces_) {
    std::memcpy(flat + p.begin, slots_[slot].as<float>() + p.state,
                static_cast<size_t>(p.count) * sizeof(float));
  }
}

void ParameterUpdate::copy_state_in(size_t slot, const float* flat) {
  for (const Piece& p : pieces_) {
    std::memcpy(slots_[slot].as<float>() + p.state, flat + p.begin,
                static_cast<size_t>(p.count) * sizeof(float));
  }
}

size_t ParameterUpdate::state_bytes() const {
  size_t bytes = 0;
  for (const Buffer& slot : slots_) bytes += slot.bytes();
  return bytes;
}

}  // namespace spire

#include "engine/update/host_update.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include <spire/error.h>

namespace spire {
namespace {

// Calls body for the entries of part `part` of `parts` of a list.
template <typename T, typename Body>
void for_part(const std::vector<T>& list, int part, int parts, Body&& body) {
  auto at = [&](int p) {
    return list.size() * static_cast<size_t>(p) / static_cast<size_t>(parts);
  };
  for (size_t i = at(part); i < at(part + 1); ++i) body(list[i]);
}

}  // namespace

HostUpdate::HostUpdate(const Options& options, const ParameterLayout& layout) : options_(options) {
  pieces_ = cut_into_pieces(options.owned, options.spans, layout, options.norms);
  for (size_t i = 0; i < slot_count(options.optimizer, options.ema); ++i) {
    memory_.push_back(options.memory->allocate(MemoryKind::optimizer, pieces_.slot_bytes()));
    slots_.push_back(memory_.back()->as<float>());
  }
  require(slots_.size() <= max_slots, "an optimizer with {} slots", slots_.size());
}

void HostUpdate::measure(int part, const Step& order, Stream&) {
  const ChunkStep step = chunk_step(order);
  if (step.gradient_factor < 0) return;
  for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
    Slots slots;
    TrustSquares squares = measure_slice(step.formula, factors_of(piece, step),
                                         slice_of(piece, options_.sums + piece.begin, slots));
    if (piece.adapts) options_.norms->set(piece.cell, squares);
  });
}

void HostUpdate::update(int part, const Step& order, Stream&) {
  const ChunkStep step = chunk_step(order);
  if (step.gradient_factor < 0) return;
  const UpdatePiece* former = nullptr;  // pieces of a span are neighbours: one ratio for all
  float trust = 1.0f;
  for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
    if (!former || former->span != piece.span)
      trust = piece.adapts
                  ? trust_ratio(step.formula, options_.norms->total(piece.span), piece.decay)
                  : 1.0f;
    former = &piece;
    SliceFactors at = factors_of(piece, step);
    at.trust = trust;
    update_piece(piece, options_.sums + piece.begin, at, step);
  });
  for_part(pieces_.statistics, part, options_.parts, [&](const StatisticPiece& s) {
    s.update(options_.sums + s.begin, options_.weights + s.begin, s.count);
  });
}

// A CPU knows of all steps before. The squares are added in the order of chunks: the same bits
// whichever member computed which.
HostUpdate::ChunkStep HostUpdate::chunk_step(const Step& order) const {
  GradientScale scale{options_.optimizer.clip_norm, order.loss_scale};
  double squares = 0;
  if (scale.reads_squares())
    squares = std::accumulate(options_.squares.begin(), options_.squares.end(), 0.0);
  int64_t number = order.for_optimizer(0);
  return {formula_of(options_.optimizer, order.lr, number), average_formula(options_.ema, number),
          scale.factor(squares)};
}

void HostUpdate::update_chunk(FloatRange chunk, const float* sums, const ChunkStep& step) {
  // Pieces end where chunks do, so each is inside this one or outside.
  auto piece = std::partition_point(pieces_.weights.begin(), pieces_.weights.end(),
                                    [&](const UpdatePiece& p) { return p.begin < chunk.begin; });
  for (; piece != pieces_.weights.end() && piece->begin < chunk.end; ++piece)
    update_piece(*piece, sums + (piece->begin - chunk.begin), factors_of(*piece, step), step);
  // Statistics may reach over several chunks.
  auto s = std::partition_point(
      pieces_.statistics.begin(), pieces_.statistics.end(),
      [&](const StatisticPiece& p) { return p.begin + p.count <= chunk.begin; });
  for (; s != pieces_.statistics.end() && s->begin < chunk.end; ++s) {
    FloatRange part = common(chunk, {s->begin, s->begin + s->count});
    s->update(sums + (part.begin - chunk.begin), options_.weights + part.begin, part.size());
  }
}

void HostUpdate::begin_average() {
  FloatRange all = {0, std::numeric_limits<int64_t>::max()};
  if (options_.ema.decay > 0) copy_state_in(slots_.size() - 1, all, options_.weights);
}

void HostUpdate::swap_average(int part, Stream&) {
  for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
    float* weights = options_.weights + piece.begin;
    std::swap_ranges(weights, weights + piece.count, slots_.back() + piece.state);
  });
}

void HostUpdate::copy_state_out(size_t slot, FloatRange window, float* flat) const {
  pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
    std::copy_n(slots_[slot] + state, count, flat + (begin - window.begin));
  });
}

void HostUpdate::copy_state_in(size_t slot, FloatRange window, const float* flat) {
  pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
    std::copy_n(flat + (begin - window.begin), count, slots_[slot] + state);
  });
}

UpdateSlice HostUpdate::slice_of(const UpdatePiece& piece, const float* sums, Slots& slots) const {
  for (size_t i = 0; i < slots_.size(); ++i) slots[i] = slots_[i] + piece.state;
  return {.count = piece.count,
          .gradients = sums,
          .weights = options_.weights + piece.begin,
          .slots = {slots.data(), slots_.size()}};
}

SliceFactors HostUpdate::factors_of(const UpdatePiece& piece, const ChunkStep& step) {
  return {.gradient = step.gradient_factor, .decay = piece.decay, .lr = piece.lr};
}

// The average, if there is one, is the last slot; the optimizer does not look at it.
void HostUpdate::update_piece(const UpdatePiece& piece, const float* sums, const SliceFactors& at,
                              const ChunkStep& step) {
  Slots slots;
  UpdateSlice slice = slice_of(piece, sums, slots);
  update_slice(step.formula, at, slice);
  if (options_.ema.decay > 0)
    update_average(step.average, slice.count, slice.weights, slice.slots.back());
}

}  // namespace spire

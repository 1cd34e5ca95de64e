#include "engine/update/cpu_update.h"

#include <algorithm>
#include <numeric>

#include <spire/error.h>

namespace spire {
namespace {

// Calls body(part, entry) for the part of each entry of an ascending list that lies in the chunk.
template <typename Piece, typename Body>
void for_parts(const std::vector<Piece>& list, FloatRange chunk, const Body& body) {
  auto at = std::ranges::partition_point(
      list, [&](const Piece& p) { return p.begin + p.count <= chunk.begin; });
  for (; at != list.end() && at->begin < chunk.end; ++at)
    body(common(chunk, {at->begin, at->begin + at->count}), *at);
}

}  // namespace

size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout) {
  if (options.on_host) return 0;
  if (options.device().kind == DeviceKind::cuda) return cuda_update_bytes(options, layout);
  PieceCounts pieces = count_pieces(options.owned, options.spans, layout);
  return slot_count(options.config->optimizer, options.config->ema) *
         static_cast<size_t>(pieces.state_floats) * sizeof(float);
}

CpuUpdate::CpuUpdate(const Options& options, const ParameterLayout& layout)
    : options_(options),
      pieces_(cut_into_pieces(options.owned, options.spans, layout, options.norms)) {
  for (size_t i = 0; i < slot_count(options.config->optimizer, options.config->ema); ++i) {
    memory_.push_back(options.memory->allocate(MemoryKind::optimizer, pieces_.slot_bytes()));
    slots_.push_back(memory_.back()->as<float>());
  }
  require(slots_.size() <= max_slots, "an optimizer with {} slots", slots_.size());
}

// A CPU knows of all steps before. The squares are added in the order of chunks: the same bits
// whichever member computed which.
CpuUpdate::ChunkStep CpuUpdate::chunk_step(const Step& order) const {
  GradientScale scale{options_.config->optimizer.clip_norm, order.loss_scale};
  double squares = 0;
  if (scale.reads_squares())
    squares = std::accumulate(options_.squares.begin(), options_.squares.end(), 0.0);
  int64_t number = order.for_optimizer(0);
  return {formula_of(options_.config->optimizer, order.lr, number),
          average_formula(options_.config->ema, number), scale.factor(squares)};
}

// Pieces end where chunks do, so each is inside this chunk or outside.
void CpuUpdate::measure(FloatRange chunk, const float* sums, const ChunkStep& step) {
  if (step.gradient_factor < 0) return;
  for_parts(pieces_.weights, chunk, [&](FloatRange, const UpdatePiece& piece) {
    Slots slots;
    TrustSquares squares =
        measure_slice(step.formula, factors_of(piece, step),
                      slice_of(piece, sums + (piece.begin - chunk.begin), slots));
    if (piece.adapts) options_.norms->set(piece.cell, squares);
  });
}

void CpuUpdate::update(FloatRange chunk, const float* sums, ChunkStep& step) {
  if (step.gradient_factor < 0) return;
  for_parts(pieces_.weights, chunk, [&](FloatRange, const UpdatePiece& piece) {
    Slots slots;
    UpdateSlice slice = slice_of(piece, sums + (piece.begin - chunk.begin), slots);
    SliceFactors at = factors_of(piece, step);
    at.trust = trust_of(piece, step);
    update_slice(step.formula, at, slice);
    // The average, if there is one, is the last slot; the optimizer does not look at it.
    if (options_.config->ema.decay > 0)
      update_average(step.average, slice.count, slice.weights, slice.slots.back());
  });
  // Statistics may reach over several chunks.
  for_parts(pieces_.statistics, chunk, [&](FloatRange part, const StatisticPiece& statistic) {
    statistic.update(sums + (part.begin - chunk.begin), options_.weights + part.begin, part.size());
  });
}

void CpuUpdate::swap_average(FloatRange chunk) {
  for_parts(pieces_.weights, chunk, [&](FloatRange, const UpdatePiece& piece) {
    float* weights = options_.weights + piece.begin;
    std::swap_ranges(weights, weights + piece.count, slots_.back() + piece.state);
  });
}

void CpuUpdate::begin_average() {
  FloatRange all = {0, std::numeric_limits<int64_t>::max()};
  if (options_.config->ema.decay > 0) copy_state_in(slots_.size() - 1, all, options_.weights);
}

void CpuUpdate::copy_state_out(size_t slot, FloatRange window, float* flat) const {
  pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
    std::copy_n(slots_[slot] + state, count, flat + (begin - window.begin));
  });
}

void CpuUpdate::copy_state_in(size_t slot, FloatRange window, const float* flat) {
  pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
    std::copy_n(flat + (begin - window.begin), count, slots_[slot] + state);
  });
}

UpdateSlice CpuUpdate::slice_of(const UpdatePiece& piece, const float* sums, Slots& slots) const {
  for (size_t i = 0; i < slots_.size(); ++i) slots[i] = slots_[i] + piece.state;
  return {.count = piece.count,
          .gradients = sums,
          .weights = options_.weights + piece.begin,
          .slots = {slots.data(), slots_.size()}};
}

SliceFactors CpuUpdate::factors_of(const UpdatePiece& piece, const ChunkStep& step) {
  return {.gradient = step.gradient_factor, .decay = piece.decay, .lr = piece.lr};
}

float CpuUpdate::trust_of(const UpdatePiece& piece, ChunkStep& step) const {
  if (!piece.adapts) return 1.0f;
  if (step.span != piece.span)
    step.trust = trust_ratio(step.formula, options_.norms->total(piece.span), piece.decay);
  step.span = piece.span;
  return step.trust;
}

}  // namespace spire

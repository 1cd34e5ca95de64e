// The update on a CPU, and the choice among all updates.
#include "engine/update/parameter_update.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace spire::inline update {
namespace {

// Calls body for the entries of part `part` of `parts` of a list.
template <typename T, typename Body>
void for_part(const std::vector<T>& list, int part, int parts, Body&& body) {
  auto at = [&](int p) {
    return list.size() * static_cast<size_t>(p) / static_cast<size_t>(parts);
  };
  for (size_t i = at(part); i < at(part + 1); ++i) body(list[i]);
}

// The update on a CPU: lanes share the pieces; all arithmetic is the optimizer's slice loops.
class HostUpdate : public ParameterUpdate {
 public:
  HostUpdate(const Options& options, const ParameterLayout& layout)
      : options_(options), optimizer_(make_optimizer(options.optimizer)), ema_(options.ema) {
    pieces_ = cut_into_pieces(options.owned, options.spans, layout, options.norms);
    for (size_t i = 0; i < state_slots(options); ++i) {
      memory_.push_back(options.memory->allocate(MemoryKind::optimizer, pieces_.slot_bytes()));
      slots_.push_back(memory_.back()->as<float>());
    }
    slot_pointers_.resize(static_cast<size_t>(options_.parts), std::vector<float*>(slots_.size()));
  }

  void measure(int part, const Step& order, Stream&) override {
    UpdateStep step = step_of(order);
    if (step.gradient_factor < 0) return;
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      TrustSquares squares = optimizer_->measure(step, slice_of(part, piece));
      if (piece.adapts) options_.norms->set(piece.cell, squares);
    });
  }

  void update(int part, const Step& order, Stream&) override {
    UpdateStep step = step_of(order);
    if (step.gradient_factor < 0) return;
    const UpdatePiece* former = nullptr;  // pieces of a span are neighbours: one ratio for all
    float ratio = 1.0f;
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      if (!former || former->span != piece.span) ratio = trust_ratio(piece);
      former = &piece;
      // The average, if there is one, is the last slot; the optimizer does not look at it.
      UpdateSlice slice = slice_of(part, piece);
      slice.trust_ratio = ratio;
      optimizer_->update(step, slice);
      if (ema_.on()) ema_.update(step.step, slice.count, slice.weights, slice.slots.back());
    });
    for_part(pieces_.statistics, part, options_.parts,
             [&](const StatisticPiece& s) { update_statistic(s); });
  }

  void begin_average() override {
    FloatRange all = {0, std::numeric_limits<int64_t>::max()};
    if (ema_.on()) copy_state_in(slots_.size() - 1, all, options_.weights);
  }

  void swap_average(int part, Stream&) override {
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      float* weights = options_.weights + piece.begin;
      std::swap_ranges(weights, weights + piece.count, slots_.back() + piece.state);
    });
  }

  void copy_state_out(size_t slot, FloatRange window, float* flat) const override {
    pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
      std::copy_n(slots_[slot] + state, count, flat + (begin - window.begin));
    });
  }

  void copy_state_in(size_t slot, FloatRange window, const float* flat) override {
    pieces_.for_each_part(window, [&](int64_t begin, int64_t count, int64_t state) {
      std::copy_n(flat + (begin - window.begin), count, slots_[slot] + state);
    });
  }

  size_t state_bytes() const override { return slots_.size() * pieces_.slot_bytes(); }

 private:
  // A CPU knows of all steps before. The squares are added in the order of chunks: the same bits
  // whichever member computed which.
  UpdateStep step_of(const Step& order) const {
    UpdateStep step = order.for_optimizer(0);
    GradientScale scale{options_.optimizer.clip_norm, order.loss_scale};
    double squares = 0;
    if (scale.reads_squares())
      squares = std::accumulate(options_.squares.begin(), options_.squares.end(), 0.0);
    step.gradient_factor = scale.factor(squares);
    return step;
  }

  UpdateSlice slice_of(int part, const UpdatePiece& piece) {
    auto& pointers = slot_pointers_[static_cast<size_t>(part)];
    for (size_t i = 0; i < slots_.size(); ++i) pointers[i] = slots_[i] + piece.state;
    return {.count = piece.count,
            .gradients = options_.sums + piece.begin,
            .weights = options_.weights + piece.begin,
            .slots = pointers,
            .decay = piece.decay};
  }

  float trust_ratio(const UpdatePiece& piece) const {
    if (!piece.adapts) return 1.0f;
    return optimizer_->trust_ratio(options_.norms->total(piece.span), piece.decay);
  }

  void update_statistic(const StatisticPiece s) {
    float* running = options_.weights + s.begin;
    const float* sum = options_.sums + s.begin;
    for (int64_t i = 0; i < s.count; ++i) s.update(sum[i], running[i]);
  }

  Options options_;
  std::unique_ptr<Optimizer> optimizer_;
  Ema ema_;
  UpdatePieces pieces_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
  std::vector<float*> slots_;                       // start of each slot
  std::vector<std::vector<float*>> slot_pointers_;  // one list a part
};

}  // namespace

size_t state_slots(const ParameterUpdate::Options& options) {
  return make_optimizer(options.optimizer)->slots().size() + (Ema(options.ema).on() ? 1 : 0);
}

size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout) {
  if (options.on_host) return 0;
  if (options.device().kind == DeviceKind::cuda) return cuda_update_bytes(options, layout);
  auto pieces = cut_into_pieces(options.owned, options.spans, layout, options.norms);
  return state_slots(options) * pieces.slot_bytes();
}

std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout) {
  if (options.on_host) return make_update_on_host(options, layout);
  if (options.device().kind == DeviceKind::cuda) return make_cuda_parameter_update(options, layout);
  return std::make_unique<HostUpdate>(options, layout);
}

}  // namespace spire::inline update

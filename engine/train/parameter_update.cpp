#include <spire/train/parameter_update.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <spire/device/buffer.h>
#include <spire/train/update_on_host.h>

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

class HostUpdate : public ParameterUpdate {
 public:
  HostUpdate(const Options& options, const ParameterLayout& layout)
      : options_(options), optimizer_(make_optimizer(options.optimizer)), ema_(options.ema) {
    require(!optimizer_->layerwise() || options.norms, "a layer-wise optimizer without norms");
    pieces_ = cut_into_pieces(options.owned, options.spans, layout, options.norms);
    size_t slots = optimizer_->slots().size() + (ema_.on() ? 1 : 0);
    for (size_t i = 0; i < slots; ++i)
      slots_.emplace_back(static_cast<size_t>(pieces_.state_floats()) * sizeof(float));
    slot_pointers_.resize(static_cast<size_t>(options_.parts), std::vector<float*>(slots_.size()));
  }

  void measure(int part, UpdateStep step, Stream&) override {
    step.gradient_factor = gradient_factor(step);
    if (step.gradient_factor < 0) return;
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      TrustSquares squares = optimizer_->measure(step, slice_of(part, piece));
      if (piece.adapts) options_.norms->set(piece.cell, squares);
    });
  }

  void update(int part, UpdateStep step, Stream&) override {
    step.gradient_factor = gradient_factor(step);
    if (step.gradient_factor < 0) return;
    const UpdatePiece* former = nullptr;
    float ratio = 1.0f;
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      if (!former || former->span != piece.span) ratio = trust_ratio(piece);
      former = &piece;
      UpdateSlice slice = slice_of(part, piece);
      slice.trust_ratio = ratio;
      optimizer_->update(step, slice);
      if (ema_.on()) ema_.update(step.step, slice.count, slice.weights, slice.slots.back());
    });
    for_part(pieces_.statistics, part, options_.parts,
             [&](const StatisticPiece& s) { update_statistic(s); });
  }

  void begin_average() override {
    if (ema_.on()) copy_state_in(slots_.size() - 1, options_.weights);
  }

  void swap_average(int part, Stream&) override {
    for_part(pieces_.weights, part, options_.parts, [&](const UpdatePiece& piece) {
      float* weights = options_.weights + piece.begin;
      std::swap_ranges(weights, weights + piece.count, slots_.back().as<float>() + piece.state);
    });
  }

  void copy_state_out(size_t slot, float* flat) const override {
    for (const UpdatePiece& p : pieces_.weights) {
      std::memcpy(flat + p.begin, slots_[slot].as<float>() + p.state,
                  static_cast<size_t>(p.count) * sizeof(float));
    }
  }

  void copy_state_in(size_t slot, const float* flat) override {
    for (const UpdatePiece& p : pieces_.weights) {
      std::memcpy(slots_[slot].as<float>() + p.state, flat + p.begin,
                  static_cast<size_t>(p.count) * sizeof(float));
    }
  }

  size_t state_bytes() const override {
    size_t bytes = 0;
    for (const Buffer& slot : slots_) bytes += slot.bytes();
    return bytes;
  }

 private:
  // Sums over fixed chunks in a fixed order: the same whoever computed which.
  float gradient_factor(const UpdateStep& step) const {
    GradientScale scale{options_.optimizer.clip_norm, step.loss_scale, step.skip_overflow};
    if (scale.clip_norm <= 0 && !scale.skip_overflow) return scale.factor(0);
    return scale.factor(std::accumulate(options_.squares.begin(), options_.squares.end(), 0.0));
  }

  UpdateSlice slice_of(int part, const UpdatePiece& piece) {
    auto& pointers = slot_pointers_[static_cast<size_t>(part)];
    for (size_t i = 0; i < slots_.size(); ++i) pointers[i] = slots_[i].as<float>() + piece.state;
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
  std::vector<Buffer> slots_;
  std::vector<std::vector<float*>> slot_pointers_;  // one list a part
};

}  // namespace

std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout) {
  if (options.device.kind == DeviceKind::cuda) return make_cuda_parameter_update(options, layout);
  if (options.memory.kind == DeviceKind::cuda) return make_update_on_host(options, layout);
  return std::make_unique<HostUpdate>(options, layout);
}

}  // namespace spire

#include "engine/update/cpu_update.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include <spire/optimizer.h>

#include "engine/base/fail.h"

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
      layout_(layout),
      pieces_(cut_into_pieces(options.owned, options.spans, layout, options.norms)) {
  for (size_t i = 0; i < slot_count(options.config->optimizer, options.config->ema); ++i) {
    memory_.push_back(options.memory->allocate(MemoryKind::optimizer, pieces_.slot_bytes()));
    slots_.push_back(memory_.back()->as<float>());
  }
  require(slots_.size() <= max_slots, "an optimizer with {} slots", slots_.size());
}

// The state is in the order of weights, wherever pieces end.
void CpuUpdate::set_spans(const std::vector<WeightSpan>& spans) {
  options_.spans = spans;
  pieces_ = cut_into_pieces(options_.owned, spans, layout_, options_.norms);
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
          average_formula(options_.config->ema, number), scale.factor(squares), order.lr, number};
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
    if (options_.config->optimizer.own)
      update_own(piece, slice, step);
    else
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

void CpuUpdate::update_own(const UpdatePiece& piece, const UpdateSlice& slice,
                           const ChunkStep& step) const {
  const OptimizerConfig& config = options_.config->optimizer;
  size_t state = slots_.size() - (options_.config->ema.decay > 0 ? 1 : 0);
  config.own->update({.count = slice.count,
                      .gradients = slice.gradients,
                      .gradient_factor = step.gradient_factor,
                      .weights = slice.weights,
                      .state = slice.slots.first(state),
                      .lr = step.lr * piece.lr,
                      .weight_decay = static_cast<float>(config.weight_decay) * piece.decay,
                      .step = step.number});
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

// The update of a GPU's weights by the CPU: master weights and optimizer state lie in the host's
// memory. Each step copies the reduced gradients to the host and the new weights to the GPU.

namespace {

// Runs a CPU's update in pinned copies of the GPU's buffers, on a lane team of its own.
class CpuUpdateOfGpu : public GpuUpdate {
 public:
  CpuUpdateOfGpu(const Options& options, const ParameterLayout& layout)
      : options_(options),
        team_(options.host_lanes, "update"),
        bytes_(static_cast<size_t>(layout.gradient_floats()) * sizeof(float)),
        weights_(allocate_staging(options.device(), bytes_)),
        sums_(allocate_staging(options.device(), bytes_)),
        squares_(allocate_staging(options.device(), options.squares.size_bytes())),
        measures_(options.norms != nullptr) {
    Options host = options;
    host.memory = &memory_;
    host.on_host = false;
    host.weights = weights_->as<float>();
    host.squares = {squares_->as<double>(), options.squares.size()};
    if (measures_) {
      norms_ = std::make_unique<TensorNorms>(options.spans);
      norms_->allocate(memory_);
      host.norms = norms_.get();
    }
    update_ = std::make_unique<CpuUpdate>(host, layout);
  }

  void measure(const Step& step, Stream& stream) override {
    fetch(stream);
    on_chunks(step, [&](FloatRange chunk, CpuUpdate::ChunkStep& at) {
      update_->measure(chunk, sums_of(chunk), at);
    });
  }
  void update(const Step& step, Stream& stream) override {
    if (!measures_) fetch(stream);
    on_chunks(step, [&](FloatRange chunk, CpuUpdate::ChunkStep& at) {
      update_->update(chunk, sums_of(chunk), at);
    });
    hand_over(stream);
  }

  void weights_written(FloatRange range, const float* values) override {
    FloatRange own = common(range, {0, static_cast<int64_t>(bytes_ / sizeof(float))});
    if (own.size() > 0) std::copy_n(values, own.size(), weights_->as<float>() + own.begin);
  }
  void set_spans(const std::vector<WeightSpan>& spans) override {
    if (norms_) norms_->number(spans);
    update_->set_spans(spans);
  }
  void begin_average() override { update_->begin_average(); }
  void swap_average(Stream& stream) override {
    stream.synchronize();  // it may still read the weights
    on_chunks({}, [&](FloatRange chunk, auto&) { update_->swap_average(chunk); });
    hand_over(stream);
  }

  void copy_state_out(size_t slot, FloatRange window, float* flat) const override {
    update_->copy_state_out(slot, window, flat);
  }
  void copy_state_in(size_t slot, FloatRange window, const float* flat) override {
    update_->copy_state_in(slot, window, flat);
  }
  size_t state_bytes() const override { return 0; }  // of the GPU's memory

 private:
  // Copies gradients to the host and waits; the stream has then also read the former weights.
  void fetch(Stream& stream) {
    stream.copy(sums_->data(), options_.sums, bytes_);
    stream.copy(squares_->data(), options_.squares.data(), options_.squares.size_bytes());
    stream.synchronize();
  }
  void hand_over(Stream& stream) { stream.copy(options_.weights, weights_->data(), bytes_); }

  // The GPU's lane waits here for the host's, which call body(chunk, step) for their chunks.
  template <typename Body>
  void on_chunks(const Step& step, const Body& body) {
    auto on_lane = [&](int lane) {
      CpuUpdate::ChunkStep at = update_->chunk_step(step);
      for (FloatRange range : options_.owned)
        for_chunks(share_of(range, lane, lane + 1, team_.size()),
                   [&](FloatRange chunk) { body(chunk, at); });
    };
    const std::function<void(int)> on_each = std::ref(on_lane);  // allocates nothing
    team_.lead([&] { team_.parallel(on_each); });
  }
  const float* sums_of(FloatRange chunk) const { return sums_->as<float>() + chunk.begin; }

  Options options_;
  MemoryPool memory_{DeviceId{}};  // without a limit: the host's memory is in no device's plan
  LaneTeam team_;
  size_t bytes_;  // of what updates change: all but the frozen weights
  std::unique_ptr<DeviceMemory> weights_, sums_, squares_;  // of the host, pinned
  bool measures_;  // layer-wise: measure() fetches the gradients, update() does not
  std::unique_ptr<TensorNorms> norms_;
  std::unique_ptr<CpuUpdate> update_;
};

}  // namespace

std::unique_ptr<GpuUpdate> make_cpu_update_of_gpu(const ParameterUpdate::Options& options,
                                                  const ParameterLayout& layout) {
  return std::make_unique<CpuUpdateOfGpu>(options, layout);
}

}  // namespace spire

// The update on a GPU: the kernels of update_launches.h, on tables that the host makes.
#include <algorithm>

#include "engine/base/fail.h"
#include "engine/device/cuda_error.h"
#include "engine/update/loss_scale.h"
#include "engine/update/parameter_update.h"
#include "engine/update/update_launches.h"

namespace spire {
namespace {

template <typename T>
std::unique_ptr<DeviceMemory> upload(MemoryPool& pool, const std::vector<T>& list) {
  auto memory = pool.allocate(MemoryKind::optimizer, list.size() * sizeof(T));
  memory->write(list.data(), list.size() * sizeof(T));
  return memory;
}

bool takes_packs(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory) % (update_width * sizeof(float)) == 0;
}
bool takes_packs(const UpdatePiece& piece) {
  return (piece.begin | piece.count | piece.state) % update_width == 0;
}

// What kernels look up, as the host makes it.
struct UpdateLists {
  UpdateLists(const ParameterUpdate::Options& options, const ParameterLayout& layout)
      : pieces(cut_into_pieces(options.owned, options.spans, layout, options.norms)) {
    if (!options.norms) return;
    for (size_t i = 0; i < options.spans.size(); ++i) {
      const WeightSpan& span = options.spans[i];
      TensorNorms::Cells cells = options.norms->cells(i);
      if (span.adapts) trust_spans.push_back({cells.begin, cells.end, span.decay, i});
    }
    trust.assign(options.spans.size(), 1.0f);
  }

  UpdatePieces pieces;
  std::vector<StepFactors> factors = {StepFactors{}};
  // Of layer-wise optimizers: a ratio a span of weights, and those that have one of their own.
  std::vector<TrustSpan> trust_spans;
  std::vector<float> trust;
};

class CudaUpdate : public GpuUpdate {
 public:
  CudaUpdate(const Options& options, const ParameterLayout& layout)
      : options_(options),
        layout_(layout),
        layerwise_(is_layerwise(options.config->optimizer)),
        lists_(options, layout) {
    require(takes_packs(options.weights) && takes_packs(options.sums), "misaligned weights");
    allocate_slots();
    bind();
  }

  // The lists give way to the new ones, which may be longer.
  void set_spans(const std::vector<WeightSpan>& spans) override {
    CurrentCudaDevice current(options_.device().index);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    options_.spans = spans;
    lists_ = UpdateLists(options_, layout_);
    for (auto* list : {&piece_list_, &statistic_list_, &factors_, &spans_, &trust_}) list->reset();
    bind();
  }

  void measure(const Step& step, Stream& stream) override {
    if (!layerwise_) return;
    find_factors(step, stream);
    launch_measure(stream.native(), buffers_, rules_of(step));
  }

  void update(const Step& step, Stream& stream) override {
    StepRules rules = rules_of(step);
    if (layerwise_)
      launch_trust(stream.native(), spans_->as<TrustSpan>(), lists_.trust_spans.size(), buffers_,
                   rules, trust_->as<float>());
    else
      find_factors(step, stream);
    launch_update(stream.native(), buffers_, rules);
  }

  void begin_average() override {
    if (options_.config->ema.decay <= 0) return;
    CurrentCudaDevice current(options_.device().index);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    launch_begin_average(nullptr, buffers_);
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void swap_average(Stream& stream) override { launch_swap_average(stream.native(), buffers_); }

  // Of the window the slot has one stretch: pieces and their state are in the same order.
  void copy_state_out(size_t slot, FloatRange window, float* flat) const override {
    FloatRange stretch = stretch_of(window);
    std::vector<float> state(static_cast<size_t>(stretch.size()));
    slots_[slot]->read(state.data(), state.size() * sizeof(float), offset_of(stretch));
    pieces().for_each_part(window, [&](int64_t begin, int64_t count, int64_t at) {
      std::copy_n(state.begin() + (at - stretch.begin), count, flat + (begin - window.begin));
    });
  }

  void copy_state_in(size_t slot, FloatRange window, const float* flat) override {
    FloatRange stretch = stretch_of(window);
    std::vector<float> state(static_cast<size_t>(stretch.size()));
    pieces().for_each_part(window, [&](int64_t begin, int64_t count, int64_t at) {
      std::copy_n(flat + (begin - window.begin), count, state.begin() + (at - stretch.begin));
    });
    slots_[slot]->write(state.data(), state.size() * sizeof(float), offset_of(stretch));
  }

  size_t state_bytes() const override {
    size_t bytes = 0;
    for (const auto& slot : slots_) bytes += slot->bytes();
    return bytes;
  }

 private:
  const UpdatePieces& pieces() const { return lists_.pieces; }

  // For all that follows on the stream, in this step.
  void find_factors(const Step& step, Stream& stream) {
    GradientScale scale{options_.config->optimizer.clip_norm, step.loss_scale};
    if (!scale.reads_squares()) return;
    launch_step_factors(stream.native(), options_.squares, scale, step.skipped,
                        factors_->as<StepFactors>());
  }

  StepRules rules_of(const Step& step) const {
    StepRules rules;
    for (int unreported_skips = 0; unreported_skips <= max_unreported_skips; ++unreported_skips) {
      int64_t number = step.for_optimizer(unreported_skips);
      rules.optimizer[unreported_skips] = formula_of(options_.config->optimizer, step.lr, number);
      rules.ema[unreported_skips] = average_formula(options_.config->ema, number);
    }
    return rules;
  }

  void allocate_slots() {
    size_t bytes = pieces().slot_bytes();
    CurrentCudaDevice current(options_.device().index);
    for (size_t i = 0; i < slot_count(options_.config->optimizer, options_.config->ema); ++i) {
      slots_.push_back(options_.memory->allocate(MemoryKind::optimizer, bytes));
      if (bytes == 0) continue;
      check_cuda(cudaMemsetAsync(slots_[i]->data(), 0, bytes, nullptr), "cudaMemsetAsync");
    }
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  void bind() {
    for (const UpdatePiece& piece : pieces().weights)
      require(takes_packs(piece), "misaligned weights at {}", piece.begin);
    piece_list_ = upload(*options_.memory, pieces().weights);
    statistic_list_ = upload(*options_.memory, pieces().statistics);
    buffers_.pieces = piece_list_->as<UpdatePiece>();
    buffers_.statistics = statistic_list_->as<StatisticPiece>();
    buffers_.piece_count = static_cast<unsigned>(pieces().weights.size());
    buffers_.statistic_count = static_cast<unsigned>(pieces().statistics.size());
    buffers_.weights = options_.weights;
    buffers_.sums = options_.sums;
    factors_ = upload(*options_.memory, lists_.factors);
    buffers_.factors = factors_->as<StepFactors>();
    size_t slots = slot_names(options_.config->optimizer).size();
    for (size_t i = 0; i < slots; ++i) buffers_.slots[i] = slots_[i]->as<float>();
    if (options_.config->ema.decay > 0) buffers_.average = slots_.back()->as<float>();
    if (!layerwise_) return;
    spans_ = upload(*options_.memory, lists_.trust_spans);
    trust_ = upload(*options_.memory, lists_.trust);
    buffers_.norms = options_.norms->table().data();
    buffers_.trust = trust_->as<float>();
  }

  // Of the slots, in floats; empty where the window has nothing of the pieces.
  FloatRange stretch_of(FloatRange window) const {
    FloatRange stretch;
    pieces().for_each_part(window, [&](int64_t, int64_t count, int64_t at) {
      if (stretch.size() == 0) stretch.begin = at;
      stretch.end = at + count;
    });
    return stretch;
  }
  static size_t offset_of(FloatRange stretch) {
    return static_cast<size_t>(stretch.begin) * sizeof(float);
  }

  Options options_;
  const ParameterLayout& layout_;
  const bool layerwise_;
  UpdateLists lists_;
  // In the device's memory.
  std::vector<std::unique_ptr<DeviceMemory>> slots_;
  std::unique_ptr<DeviceMemory> piece_list_, statistic_list_;
  std::unique_ptr<DeviceMemory> factors_;        // of the step
  std::unique_ptr<DeviceMemory> spans_, trust_;  // of layer-wise optimizers
  UpdateBuffers buffers_;                        // all of that, for the kernels
};

}  // namespace

void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream) {
  launch_follow(stream.native(), squares, config.minimum, config.growth_interval, state);
}

size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout) {
  PieceCounts pieces = count_pieces(options.owned, options.spans, layout);
  size_t bytes = pieces.weights * sizeof(UpdatePiece) + pieces.statistics * sizeof(StatisticPiece) +
                 sizeof(StepFactors) +
                 slot_count(options.config->optimizer, options.config->ema) *
                     static_cast<size_t>(pieces.state_floats) * sizeof(float);
  if (!options.norms) return bytes;
  auto trusts = static_cast<size_t>(std::ranges::count_if(options.spans, &WeightSpan::adapts));
  return bytes + trusts * sizeof(TrustSpan) + options.spans.size() * sizeof(float);
}

std::unique_ptr<GpuUpdate> make_cuda_update(const ParameterUpdate::Options& options,
                                            const ParameterLayout& layout) {
  return std::make_unique<CudaUpdate>(options, layout);
}

}  // namespace spire

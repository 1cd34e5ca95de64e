// The update of a GPU's weights by the CPU: master weights and optimizer state lie in the host's
// memory. Each step copies the reduced gradients to the host and the new weights to the GPU.
#include <algorithm>
#include <functional>

#include "engine/update/cpu_update.h"

namespace spire {
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

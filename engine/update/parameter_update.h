// Updates the weights that one device owns: all (on the parameter device; on each device if
// mirrored) or a shard (if sharded). It keeps the optimizer state of only these weights.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/update/loss_scale.h"
#include "engine/update/optimizer.h"
#include "engine/update/update_pieces.h"

namespace spire {

class ParameterUpdate {
 public:
  struct Options {
    const RunConfig* config = nullptr;  // outlives this
    MemoryPool* memory = nullptr;       // the device's; outlives this
    bool on_host = false;               // the CPU updates a GPU's weights
    std::vector<LaneSpec> host_lanes;   // CPU threads that do so
    std::vector<FloatRange> owned;      // ranges of the flat buffer, running statistics included
    // The next three are in memory that the device can access, aligned to 16 bytes.
    float* weights = nullptr;     // flat buffer, written in the owned ranges
    const float* sums = nullptr;  // flat buffer of summed gradients; null on CPUs, which get chunks
    std::span<const double> squares;  // one sum of squares per chunk of the sums, for clipping
    std::vector<WeightSpan> spans;
    TensorNorms* norms = nullptr;  // for layer-wise optimizers; outlive this

    DeviceId device() const { return memory->device(); }
  };
  virtual ~ParameterUpdate() = default;

  struct Step {
    float lr = 0.0f;
    int64_t number = 1;  // 1 for the first step; counts skipped steps, too
    // fp16's, in memory of the updating device. Null: nothing is scaled, no step is skipped.
    const LossScaleState* loss_scale = nullptr;
    int64_t skipped = 0;  // number of skipped steps that the host knows of

    // The optimizer's step number if `unreported_skips` more steps were skipped than the host knows
    // of.
    int64_t for_optimizer(int unreported_skips) const {
      return std::max<int64_t>(1, number - skipped - unreported_skips);
    }
  };

  // The optimizer has other factors of weights; spans: all of them. Its state stays. Throws
  // Error(out_of_memory).
  virtual void set_spans(const std::vector<WeightSpan>& spans) = 0;

  // Call it after the host has set the weights in `range` of the flat buffer, to `values`.
  virtual void weights_written(FloatRange /*range*/, const float* /*values*/) {}

  virtual void begin_average() = 0;  // average = weights; does nothing without averaging

  // Copy the owned part of one slot (the optimizer's slots, then "ema") that lies in `window`, a
  // range of a flat buffer of trained_floats(). flat: host memory for the window. They wait for the
  // device's work, as begin_average() does. Any thread may call them while no lane works.
  virtual void copy_state_out(size_t slot, FloatRange window, float* flat) const = 0;
  virtual void copy_state_in(size_t slot, FloatRange window, const float* flat) = 0;
  virtual size_t state_bytes() const = 0;
};

// The update of a GPU's weights; the GPU's lane calls it. cpu_update.h has that of a CPU's weights.
class GpuUpdate : public ParameterUpdate {
 public:
  // measure() computes norms for layer-wise optimizers; those of other members are exchanged before
  // update(). If `squares` show that the gradients overflowed (fp16), the step is skipped: both
  // change nothing.
  virtual void measure(const Step& step, Stream& stream) = 0;
  virtual void update(const Step& step, Stream& stream) = 0;
  virtual void swap_average(Stream& stream) = 0;  // of weights; a second one restores every bit
};

// Return the bytes that an update will allocate. Of the pointers in `options` only `norms` is used.
size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);
size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);

// Make the update of a GPU's weights, by the GPU or by the CPU (Options::on_host).
std::unique_ptr<GpuUpdate> make_cuda_update(const ParameterUpdate::Options& options,
                                            const ParameterLayout& layout);
std::unique_ptr<GpuUpdate> make_cpu_update_of_gpu(const ParameterUpdate::Options& options,
                                                  const ParameterLayout& layout);

}  // namespace spire

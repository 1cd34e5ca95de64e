// The update of those weights that a device owns: all of them (the parameter device; each device of
// `mirrored`), or its slices (`sharded`). The optimizer state lives here, of these weights alone.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/optim/ema.h"
#include "engine/optim/loss_scale.h"
#include "engine/optim/optimizer.h"
#include "engine/update/update_pieces.h"

namespace spire::inline update {

class ParameterUpdate {
 public:
  struct Options {
    OptimizerConfig optimizer;
    EmaConfig ema;
    MemoryPool* memory = nullptr;  // of the device; outlives this
    bool on_host = false;          // the CPU updates a GPU's weights, with these lanes
    std::vector<LaneSpec> host_lanes;
    std::vector<FloatRange> owned;  // of the flat buffer, running statistics included
    // Memory that the device reaches, aligned to 16 bytes: the flat buffer of weights, written in
    // the owned ranges; that of reduced gradients; the sums of squares of the gradients' chunks,
    // for clipping.
    float* weights = nullptr;
    const float* sums = nullptr;
    std::span<const double> squares;
    int parts = 1;  // lanes that share the work; a GPU has one
    std::vector<WeightSpan> spans;
    // Norms that layer-wise optimizers measure, in memory that the device reaches; outlive this.
    TensorNorms* norms = nullptr;

    DeviceId device() const { return memory->device(); }
  };
  virtual ~ParameterUpdate() = default;

  // Steps that the GPU may have done or skipped (fp16) without the host knowing yet.
  static constexpr int max_unseen = 1;

  struct Step {
    float lr = 0.0f;
    int64_t number = 1;  // 1 for the first; those that were skipped count
    // fp16: the loss scale where the updating device reads it, and the number of skipped steps that
    // the host knows of. Null: gradients are those of the loss itself, and no step is skipped.
    const LossScaleState* loss_scale = nullptr;
    int64_t skipped = 0;

    // The optimizer's step if `unseen` more steps were skipped than the host knows.
    UpdateStep for_optimizer(int unseen) const {
      return {.lr = lr, .step = std::max<int64_t>(1, number - skipped - unseen)};
    }
  };

  // Measures part `part` of the owned weights into the norms, for layer-wise optimizers. All of a
  // tensor is measured before any of it is updated. The factor of gradients (clipping, loss scale)
  // follows from `squares`; if it says that the step is skipped, nothing changes.
  virtual void measure(int part, const Step& step, Stream& stream) = 0;
  // Updates part `part` of the owned weights.
  virtual void update(int part, const Step& step, Stream& stream) = 0;

  // Told after all weights were set to `values` of the host.
  virtual void weights_written(const float*) {}
  // Starts the average anew with the weights; and swaps part `part` of weights and average, which a
  // second swap takes back to the bit. Nothing without averaging.
  virtual void begin_average() = 0;
  virtual void swap_average(int part, Stream& stream) = 0;

  // Copy the owned part of one slot (the optimizer's, then "ema") between here and a window of a
  // flat buffer of trained_floats(), which begins at `flat` on the host. They wait for all work
  // that the device was given, as begin_average() does. Any thread may call them while no lane
  // works.
  virtual void copy_state_out(size_t slot, FloatRange window, float* flat) const = 0;
  virtual void copy_state_in(size_t slot, FloatRange window, const float* flat) = 0;
  virtual size_t state_bytes() const = 0;
};

// Bytes that an update is going to allocate. Reads no pointers of the options but the norms'
// layout.
size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);
size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);

// Number of buffers with one float a weight: the optimizer's slots, and the average.
size_t state_slots(const ParameterUpdate::Options& options);

// The update for the device and options: on the CPU, on a GPU, or of a GPU's weights by the CPU.
std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout);
std::unique_ptr<ParameterUpdate> make_cuda_parameter_update(const ParameterUpdate::Options& options,
                                                            const ParameterLayout& layout);
std::unique_ptr<ParameterUpdate> make_update_on_host(const ParameterUpdate::Options& options,
                                                     const ParameterLayout& layout);

}  // namespace spire::inline update

// Update of the weights that a device owns: all of them (the parameter device; each device of
// `mirrored`), or its shard (`sharded`). It has the optimizer state of these weights alone.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
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
    // In memory that the device reaches, aligned to 16 bytes:
    float* weights = nullptr;         // flat buffer, written in the owned ranges
    const float* sums = nullptr;      // flat buffer of reduced gradients
    std::span<const double> squares;  // of the gradients' chunks, for clipping
    int parts = 1;                    // lanes that share the work; a GPU has one
    std::vector<WeightSpan> spans;
    TensorNorms* norms = nullptr;  // of layer-wise optimizers; outlive this

    DeviceId device() const { return memory->device(); }
  };
  virtual ~ParameterUpdate() = default;

  static constexpr int max_unseen = 1;  // steps of which the host does not know yet: done, skipped?

  struct Step {
    float lr = 0.0f;
    int64_t number = 1;  // 1 for the first; those that were skipped count
    // fp16's, where the updating device reads it. Null: nothing is scaled, no step is skipped.
    const LossScaleState* loss_scale = nullptr;
    int64_t skipped = 0;  // steps, as far as the host knows

    // Returns the optimizer's step if `unseen` more steps were skipped than the host knows.
    UpdateStep for_optimizer(int unseen) const {
      return {.lr = lr, .step = std::max<int64_t>(1, number - skipped - unseen)};
    }
  };

  // Measures, then updates, part `part` of the owned weights; only layer-wise optimizers measure,
  // all of a tensor before any of it is updated. A step that `squares` says is skipped changes
  // nothing.
  virtual void measure(int part, const Step& step, Stream& stream) = 0;
  virtual void update(int part, const Step& step, Stream& stream) = 0;

  virtual void weights_written(const float*) {}  // called after the host has set all weights

  virtual void begin_average() = 0;  // average = weights; nothing without averaging
  // Swaps part `part` of weights and average; a second swap restores the bits.
  virtual void swap_average(int part, Stream& stream) = 0;

  // Copy the owned part of one slot (the optimizer's, then "ema") to or from a window of a flat
  // buffer of trained_floats(), which begins at `flat` on the host. They wait for the device's
  // work, as begin_average() does. Any thread may call them while no lane works.
  virtual void copy_state_out(size_t slot, FloatRange window, float* flat) const = 0;
  virtual void copy_state_in(size_t slot, FloatRange window, const float* flat) = 0;
  virtual size_t state_bytes() const = 0;
};

// Return the bytes that an update is going to allocate; of the pointers only the norms are read.
size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);
size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);

size_t state_slots(const ParameterUpdate::Options& options);  // the optimizer's, and the average

// Makes the update for the device and options: one of the two below, or the CPU's own.
std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout);
std::unique_ptr<ParameterUpdate> make_cuda_parameter_update(const ParameterUpdate::Options& options,
                                                            const ParameterLayout& layout);
std::unique_ptr<ParameterUpdate> make_update_on_host(const ParameterUpdate::Options& options,
                                                     const ParameterLayout& layout);

}  // namespace spire::inline update

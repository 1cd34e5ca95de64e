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
    bool on_host = false;          // a GPU's weights: the CPU updates them, with these lanes
    std::vector<LaneSpec> host_lanes;
    std::vector<FloatRange> owned;  // of the flat buffer, running statistics included
    // In memory that the device reaches, aligned to 16 bytes: the whole buffer of weights, written
    // in the owned ranges; that of reduced gradients; the sums of squares of the gradients' chunks,
    // for clipping.
    float* weights = nullptr;
    const float* sums = nullptr;
    std::span<const double> squares;
    int parts = 1;  // lanes that share the work; a GPU has one
    std::vector<WeightSpan> spans;
    // Where layer-wise optimizers measure, in memory that the device reaches; outlives this.
    TensorNorms* norms = nullptr;

    DeviceId device() const { return memory->device(); }
  };
  virtual ~ParameterUpdate() = default;

  // Steps before this one of which the host may not know yet whether they were skipped.
  static constexpr int max_unseen = 1;

  struct Step {
    float lr = 0.0f;
    int64_t number = 1;  // 1 for the first; those that were skipped count
    // Of fp16: the scale where the updating device reads it, and the steps skipped before that the
    // host knows of. Null: gradients are those of the loss itself, and none is skipped.
    const LossScaleState* loss_scale = nullptr;
    int64_t skipped = 0;

    // What the optimizer is told if `unseen` more were skipped.
    UpdateStep for_optimizer(int unseen) const {
      return {.lr = lr, .step = std::max<int64_t>(1, number - skipped - unseen)};
    }
  };

  // Part `part` of what a layer-wise optimizer needs to know of the owned weights: the norms get
  // it. All of a tensor is measured before any of it is updated, with the same step.
  // Here as below: the work goes on the stream of the part's lane, behind what it reads; nothing is
  // allocated. The factor of gradients follows from the norm that `squares` make; where it says
  // that the step is to be skipped, everything stays as it is.
  virtual void measure(int part, const Step& step, Stream& stream) = 0;
  // Part `part` of the update.
  virtual void update(int part, const Step& step, Stream& stream) = 0;

  // All weights were set from outside, to `values` of the host.
  virtual void weights_written(const float*) {}
  // Where weights are averaged: the average begins anew with them; and part `part` of an exchange
  // of both, which a second one takes back to the bit.
  virtual void begin_average() = 0;
  virtual void swap_average(int part, Stream& stream) = 0;

  // Slots are the optimizer's, then "ema" where weights are averaged. One slot's state between here
  // and a window of a flat buffer of trained_floats(), which begins at `flat` on the host: owned
  // ranges only. Behind all work that the device was given, and done when they return, as
  // begin_average() is. Any thread may call them while no work is given to the device.
  virtual void copy_state_out(size_t slot, FloatRange window, float* flat) const = 0;
  virtual void copy_state_in(size_t slot, FloatRange window, const float* flat) = 0;
  virtual size_t state_bytes() const = 0;
};

// What an update will allocate, for its optimizer; of the options it reads neither weights, sums
// nor squares, and of the norms no numbers.
size_t update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);
size_t cuda_update_bytes(const ParameterUpdate::Options& options, const ParameterLayout& layout);

// Buffers of one number a weight: the optimizer's slots, and the average's.
size_t state_slots(const ParameterUpdate::Options& options);

std::unique_ptr<ParameterUpdate> make_parameter_update(const ParameterUpdate::Options& options,
                                                       const ParameterLayout& layout);
std::unique_ptr<ParameterUpdate> make_cuda_parameter_update(const ParameterUpdate::Options& options,
                                                            const ParameterLayout& layout);

}  // namespace spire::inline update

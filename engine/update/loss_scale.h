// Dynamic loss scale of fp16: a step whose gradients overflow is skipped and halves the scale;
// growth_interval steps in a row without overflow double it. Micikevicius et al., "Mixed Precision
// Training", ICLR 2018.
#pragma once
#include <memory>
#include <span>

#include <spire/run_config.h>

#include "engine/base/fail.h"
#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/update/formulas.h"

namespace spire {

class LossScale {
 public:
  // on: true for a run in fp16; otherwise the scale stays 1.
  LossScale(const LossScaleConfig& config, bool on) : config_(config), on_(on) {
    if (on) state_.scale = config.initial;
  }

  bool on() const { return on_; }
  double value() const { return state_.scale; }
  const LossScaleState& state() const { return state_; }
  const LossScaleConfig& config() const { return config_; }
  void restore(const LossScaleState& state) {
    if (on_) state_ = state;
  }

  // If on(), counts a step and adjusts the scale. Throws Error(diverged) after max_skips skipped
  // steps in a row.
  void record(bool overflowed) {
    if (!on_) return;
    state_.record(overflowed, config_.minimum, config_.growth_interval);
    if (state_.skipped_in_row < config_.max_skips) return;
    fail(Category::diverged,
         "the gradients overflowed fp16 in {} steps in a row, the last time at loss scale {:g}; "
         "lower optimizer.lr, lengthen schedule.warmup_epochs, or use precision: bf16",
         state_.skipped_in_row, state_.scale);
  }

 private:
  LossScaleConfig config_;
  bool on_;
  LossScaleState state_;
};

// Launches one block on the stream that records a step in `state` (device memory). squares: one sum
// of squares per chunk of the reduced gradient, in memory that the device can access.
void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream);

// A loss scale in a GPU's memory, where the kernels of a step read it without the host. Each device
// computes its own copy; all compute the same value.
class DeviceLossScale {
 public:
  static constexpr size_t bytes = sizeof(LossScaleState);

  // Throws what MemoryPool::allocate() throws.
  DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config, const LossScaleState& state)
      : memory_(memory.allocate(MemoryKind::optimizer, bytes)), config_(config) {
    set(state);
  }

  const LossScaleState* state() const { return memory_->as<LossScaleState>(); }  // device memory

  // Overwrites the state after all work that the device was given.
  void set(const LossScaleState& state) { memory_->write(&state, sizeof state); }

  // Adjusts the scale for the next step. All kernels that read it must run on the same stream.
  void follow(std::span<const double> squares, Stream& stream) {
    follow_cuda_loss_scale(squares, config_, memory_->as<LossScaleState>(), stream);
  }

 private:
  std::unique_ptr<DeviceMemory> memory_;
  LossScaleConfig config_;
};

}  // namespace spire

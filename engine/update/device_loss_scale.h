// fp16's loss scale in a GPU's memory, where it follows from a step's gradients before the host has
// seen them: the next step's kernels read it there. All devices come to the same one, each by
// itself.
#pragma once
#include <memory>
#include <span>

#include "engine/device/memory_pool.h"
#include "engine/device/stream.h"
#include "engine/optim/loss_scale.h"

namespace spire::inline update {

class DeviceLossScale {
 public:
  static constexpr size_t bytes = sizeof(LossScaleState);

  // Throws what the pool throws.
  DeviceLossScale(MemoryPool& memory, const LossScaleConfig& config, const LossScaleState& state);

  // In the device's memory.
  const LossScaleState* state() const { return memory_->as<LossScaleState>(); }

  // After all work that the device was given.
  void set(const LossScaleState& state);

  // What the squares of the reduced gradient's chunks, in memory that the device reaches, make of
  // it; behind the stream's work. Every reader of the state is on that stream.
  void follow(std::span<const double> squares, Stream& stream);

 private:
  std::unique_ptr<DeviceMemory> memory_;
  LossScaleConfig config_;
};

// One block's work on a GPU's stream.
void follow_cuda_loss_scale(std::span<const double> squares, const LossScaleConfig& config,
                            LossScaleState* state, Stream& stream);

}  // namespace spire::inline update

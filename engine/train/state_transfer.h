// Moves the trained state (weights, running statistics, optimizer state) between the devices of all
// processes and checkpoints, which rank 0 reads and writes.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/checkpoint/training_state.h"
#include "engine/collective/exchange.h"
#include "engine/train/device_set.h"
#include "engine/train/state_tensors.h"
#include "engine/train/update_stage.h"

namespace spire::inline training {

// Whether checkpoints are written from a copy of the state, so that steps go on meanwhile. fitting:
// where there is memory for one, and where the state lies with several processes, which have to
// send it to rank 0.
enum class SnapshotChoice : uint8_t { never, fitting, always };

// Thread ownership: the leading thread while no lane works. Any thread may read state() for as long
// as hold() says.
class StateTransfer {
 public:
  // All arguments outlive this. `buckets`: of the flat buffer.
  StateTransfer(DeviceSet& devices, UpdateStage& update, const ParameterLayout& layout,
                const UpdateStrategy& strategy, const std::vector<FloatRange>& buckets);

  // Decides whether there is a snapshot. REQUIRES: the pools know their plans without one.
  void choose_snapshot(SnapshotChoice choice);
  bool keeps_snapshot() const { return keeps_snapshot_; }
  // One line for the start of a run; rank 0's.
  std::string text() const;

  size_t bytes(int device) const;  // in a CPU device's pool
  void allocate();                 // throws Error(out_of_memory)

  // Makes state() what the devices hold now; all ranks take part. With a snapshot that is a copy,
  // valid until the next call; without one it is read where it lies, and valid until another method
  // of the trainer is called.
  void hold();
  const SavedTensors& state() const { return tensors_; }
  // Host memory for one piece of state() at a time.
  std::span<float> piece() const { return {piece_->as<float>(), piece_floats()}; }

  // Sets the state of all devices of all ranks. tensors: on rank 0, null elsewhere. Throws
  // Error(checkpoint) naming the first tensor that does not fit the model.
  void restore(const SavedTensors* tensors);

 private:
  // Whether the state lies with several processes.
  bool gathers() const { return strategy_.shards_state() && devices_.ranks() > 1; }
  bool fits_snapshot() const;
  size_t snapshot_bytes() const;
  size_t piece_floats() const;
  MemoryPool& pool() const { return devices_.pool(devices_.host_device()); }
  bool in_pool() const { return pool().device().kind == DeviceKind::cpu; }
  std::unique_ptr<DeviceMemory> allocate_host(size_t bytes);
  void for_each_window(const std::function<void(FloatRange)>& body);
  void take_snapshot();
  void restore_slot(size_t slot, const std::string& name, const SavedTensors* tensors);

  DeviceSet& devices_;
  UpdateStage& update_;
  const ParameterLayout& layout_;
  const UpdateStrategy& strategy_;
  ShardExchange shards_;  // between the processes' hosts
  TrainerTensors tensors_;
  bool keeps_snapshot_ = false;
  std::unique_ptr<DeviceMemory> snapshot_, piece_;  // of the host; the first on rank 0 alone
};

}  // namespace spire::inline training

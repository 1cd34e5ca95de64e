// Moves the trained state (weights, running statistics, optimizer state) between the devices of all
// processes and rank 0's checkpoints.
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

// Use of a copy of the state for checkpoints, so that steps go on meanwhile. fitting: where there
// is memory for one, and where several processes have to send the state to rank 0.
enum class SnapshotChoice : uint8_t { never, fitting, always };

// Thread ownership: the leading thread while no lane works. Any thread may read state().
class StateTransfer {
 public:
  // All arguments outlive this. buckets: of the flat buffer.
  StateTransfer(DeviceSet& devices, UpdateStage& update, const ParameterLayout& layout,
                const UpdateStrategy& strategy, const std::vector<FloatRange>& buckets);

  // Decides whether there is a snapshot, and adds it to the plan of its pool. REQUIRES: the pools
  // know their plans without one.
  void choose_snapshot(SnapshotChoice choice);
  bool keeps_snapshot() const { return keeps_snapshot_; }
  std::string text() const;  // one line for the start of a run; rank 0's

  size_t bytes(int device) const;  // to allocate in the device's pool, without a snapshot
  void allocate();                 // throws Error(out_of_memory)

  // Lets state() be what the devices have now; all ranks take part. With a snapshot it is a copy,
  // valid until the next capture(); else it is read in place, valid until the trainer's next call.
  void capture();
  const SavedTensors& state() const { return tensors_; }
  // Host memory for a part of state() at a time.
  std::span<float> piece() const { return {piece_->as<float>(), piece_floats()}; }

  // Sets the state of all devices of all ranks. tensors: on rank 0, null elsewhere. Throws as
  // GroupReader does.
  void restore(const SavedTensors* tensors);

 private:
  bool gathers() const {  // the state is divided among several processes
    return strategy_.shards_state() && devices_.ranks() > 1;
  }
  bool fits_snapshot(const MemoryUse& plan) const;
  bool keeps_it_here() const { return keeps_snapshot_ && devices_.placement().rank == 0; }
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

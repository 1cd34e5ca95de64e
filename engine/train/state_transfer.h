// Moves weights, running statistics and optimizer state between all devices and checkpoints, and
// gradients between the devices and the host.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/checkpoint/training_state.h"
#include "engine/train/device_set.h"
#include "engine/train/state_tensors.h"
#include "engine/train/update_stage.h"
#include "engine/update/exchange.h"

namespace spire {

// Whether checkpoints are written from a snapshot, a copy of the state in host memory, so that
// training steps continue during the write. fitting: yes if there is memory for the copy, and also
// if several processes own parts of the state, which rank 0 gathers in the copy.
enum class SnapshotChoice : uint8_t { never, fitting, always };

// Only the leading thread calls methods, while no lane works; but any thread may read state().
class StateTransfer {
 public:
  // All arguments outlive this.
  StateTransfer(DeviceSet& devices, GradientStage& gradients, UpdateStage& update,
                const ParameterLayout& layout, const Ownership& who);

  // Decides whether there is a snapshot, and adds it to its pool's plan (on GPUs it lies in host
  // memory without a pool). REQUIRES: all other allocations are in the pools' plans
  // (MemoryPool::plan).
  void choose_snapshot(SnapshotChoice choice);
  bool keeps_snapshot() const { return keeps_snapshot_; }
  std::string text() const;  // StartInfo::checkpoints; of rank 0 only

  size_t bytes(int device) const;  // what allocate() takes from its pool, without a snapshot
  void allocate();                 // throws Error(out_of_memory)

  // Makes state() the devices' present state; collective. With a snapshot it is a copy, valid until
  // the next capture(); else it is read in place, valid until the next step or evaluation.
  void capture();
  const SavedTensors& state() const { return tensors_; }
  // Scratch in host memory, for reading state() part by part.
  std::span<float> piece() const { return {piece_->as<float>(), piece_floats()}; }

  // On rank 0 calls `fill` for each weight and running statistic with its present values, which it
  // may change; sets them on all ranks. Collective.
  void set_weights(const std::function<void(const ParameterEntry&, std::span<float>)>& fill);

  // Sets one tensor, which lies at `range` of the flat buffer, and its average to rank 0's
  // `values`, on all ranks; collective.
  void write_weight(FloatRange range, std::span<const float> values);

  // The averaged gradients and the running statistics of a step whose sums are made, as the layout
  // has them, in host memory that is allocated when they are first fetched. Lanes copy what their
  // devices own; behind them the leading thread completes the copy from other ranks. To write it
  // back, it first sends rank 0's copy to all and squares it.
  void prepare_gradients();
  void copy_gradients_out(int lane);
  void gather_gradients();               // collective
  void send_gradients(bool overflowed);  // collective; overflowed: their squares are infinite
  void copy_gradients_in(int lane);
  std::span<float> host_gradients() {
    return {host_gradients_->as<float>(), static_cast<size_t>(layout_.gradient_floats())};
  }

  // Sets the state on all ranks; collective. tensors: rank 0's, else null. Throws as GroupReader.
  void restore(const SavedTensors* tensors);

 private:
  bool gathers() const {  // whether several processes own parts of the state
    return who_.shards_state() && devices_.ranks() > 1;
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
  std::vector<FloatRange> gradients_of(int device) const;
  void restore_slot(size_t slot, const std::string& name, const SavedTensors* tensors);

  DeviceSet& devices_;
  GradientStage& gradients_;
  UpdateStage& update_;
  const ParameterLayout& layout_;
  const Ownership& who_;
  ShardExchange shards_;  // between the processes' hosts
  TowerTrainerTensors tensors_;
  bool keeps_snapshot_ = false;
  std::unique_ptr<DeviceMemory> snapshot_, piece_;  // host memory; snapshot: rank 0 only
  std::unique_ptr<DeviceMemory> host_gradients_;
  std::vector<double> squares_;  // of host_gradients_, one per chunk
};

}  // namespace spire

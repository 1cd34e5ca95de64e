// Second stage of a step: updates the weights from the summed gradients, on the devices that the
// strategy names, and sends the new weights to every replica (a device's copy of the weights).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/train/cpu_pass.h"
#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/exchange.h"
#include "engine/update/loss_scale.h"
#include "engine/update/optimizer.h"
#include "engine/update/ownership.h"
#include "engine/update/parameter_update.h"
#include "engine/update/update_pieces.h"

namespace spire {

// Thread ownership: methods with a parameter `lane` are called by that lane, inside
// LaneTeam::parallel; all others by the leading thread, while no lane works.
class UpdateStage {
 public:
  // Allocates no device memory. All arguments outlive this.
  UpdateStage(const RunConfig& config, DeviceSet& devices, const ParameterLayout& layout,
              const Ownership& who);

  MemoryUse memory(int device) const;  // what allocate() and connect() take
  void allocate();                     // tables of norms, loss scales; throws Error(out_of_memory)
  void connect(GradientStage& gradients);  // after allocate(), before what follows; outlives this

  // On a GPU updates the weights that the GPU owns. On CPUs updates the lane's part of the weights
  // that this process owns and, in a run of one process, writes them to all replicas. Throws
  // PeerLost, BarrierBroken.
  void update(int lane, const ParameterUpdate::Step& step);
  void adjust_loss_scale(int lane);  // fp16: adjusts the loss scale to this step's gradients
  const double* device_loss_scale(int lane);  // device memory; null without fp16
  // Sends updated weights to all members, copies them to all replicas of each member, and packs
  // them for the kernels, where update() has not done so. REQUIRES: all lanes met after update().
  void publish(int lane);
  void replicate(int lane);  // as publish(), but sends nothing to other members
  void pack_for_evaluation(int lane);
  void pack_frozen(int lane);  // call it after weights were written: updates do not pack these

  // Swaps the weights and their average on all devices; a second call restores every bit.
  void swap_average(int lane);
  void begin_average();  // sets the average to the present weights
  bool averages() const { return config_.ema.decay > 0; }

  void take_optimizer();  // call it when the config's optimizer has other numbers

  // Sets the fp32 weights of this process's replicas. values: the whole flat buffer. Call
  // replicate() and pack_frozen() afterwards.
  void write_weights(const float* values);

  // The same for one tensor, which lies at `range` of the flat buffer; also sets its average.
  void write_weight(FloatRange range, const float* values);

  LossScale& loss_scale() { return loss_scale_; }  // the host's copy
  const LossScale& loss_scale() const { return loss_scale_; }
  void restore_loss_scale(const LossScaleState& state);

  std::vector<std::string> slots() const;  // names: the optimizer's, then "ema"
  // Copy the part of a slot (one float per weight) that this process's devices own and that lies in
  // `window`, a range of the flat buffer, to or from `flat`; flat[0] is the float window.begin.
  void copy_state_out(size_t slot, FloatRange window, float* flat) const;
  void copy_state_in(size_t slot, FloatRange window, const float* flat);

 private:
  struct DeviceUpdate {
    ParameterUpdate::Options options;
    std::unique_ptr<ParameterUpdate> update;      // null if the device updates nothing
    GpuUpdate* on_gpu = nullptr;                  // `update`, of a GPU
    std::unique_ptr<TensorNorms> norms;           // null if it has none or uses its front's
    std::unique_ptr<DeviceLossScale> loss_scale;  // null without fp16
  };
  struct MemberShards {                             // a member's exchanges with the others
    std::unique_ptr<ShardExchange> weights, norms;  // norms: null if it is not needed
    std::span<double> squares;
  };
  DeviceUpdate& of_device(int device) {
    return updates_[static_cast<size_t>(device - devices_.local().begin)];
  }
  const DeviceUpdate& of_device(int device) const {
    return updates_[static_cast<size_t>(device - devices_.local().begin)];
  }
  MemberShards& shards_of_lane(int lane) {
    return shards_[static_cast<size_t>(devices_.member_of_lane(lane).position)];
  }
  // Returns the device whose table of norms `device` uses.
  int norms_device(int device) const {
    return who_.updates_every_replica() ? device : devices_.member_of(device).front;
  }
  void make_update(DeviceUpdate& update);
  void make_pass(GradientStage& gradients);
  CpuPass::Group pass_group(Share devices);
  bool pass_replicates() const { return pass_ && devices_.member_count() == 1; }
  void make_norms(const std::vector<WeightSpan>& spans);
  void exchange_norms(int lane);
  void exchange_weights(int lane);

  const RunConfig& config_;
  DeviceSet& devices_;
  const ParameterLayout& layout_;
  const Ownership& who_;
  const bool layerwise_;
  LossScale loss_scale_;
  std::vector<DeviceUpdate> updates_;  // one per device of this process
  std::vector<MemberShards> shards_;   // one per member of this process
  std::unique_ptr<CpuPass> pass_;      // null before connect(), and on GPUs
};

}  // namespace spire

// Second stage of a step: updates the weights from the summed gradients where the strategy says,
// and sends the new weights to every replica.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/collective/exchange.h"
#include "engine/optim/loss_scale.h"
#include "engine/optim/optimizer.h"
#include "engine/train/device_set.h"
#include "engine/train/gradient_stage.h"
#include "engine/update/device_loss_scale.h"
#include "engine/update/parameter_update.h"
#include "engine/update/strategy.h"
#include "engine/update/update_pieces.h"

namespace spire::inline training {

// Thread ownership: methods with a lane belong to that lane, inside LaneTeam::parallel; the rest to
// the leading thread while no lane works.
class UpdateStage {
 public:
  struct Options {
    OptimizerConfig optimizer;
    EmaConfig ema;
    LossScaleConfig loss_scale;
    DType precision = DType::f32;
    std::vector<FloatRange> buckets;
    BucketReducer::Options reducer;  // of all members: says who gets which sums
  };
  // Allocates nothing. All arguments but the options outlive this.
  UpdateStage(DeviceSet& devices, const ParameterLayout& layout, const UpdateStrategy& strategy,
              const Options& options);

  MemoryUse memory(int device) const;  // what a device of this process is going to allocate
  void allocate();                     // norms and loss scales; throws Error(out_of_memory)
  void connect(const GradientStage& gradients);  // makes the updates; before all that follows

  // Updates the lane's part of the weights of its device. Throws PeerLost, BarrierBroken.
  void update(int lane, const ParameterUpdate::Step& step);
  void follow_loss_scale(int lane);  // fp16: the next step's scale, from this step's gradients
  const double* device_loss_scale(int lane);  // in the device's memory; null: no fp16
  // Sends updated weights to all members, copies them to all replicas of a member, and packs them
  // for the kernels. REQUIRES: all lanes met after the update.
  void publish(int lane);
  void replicate(int lane);  // within a member alone, and packs
  void pack_for_evaluation(int lane);

  // Exchanges weights and their average, everywhere; a second call restores the bits.
  void swap_average(int lane);
  void begin_average();  // the average begins anew with the weights
  bool averages() const { return ema_.on(); }

  // Sets the plain weights of this process's replicas; replicate() must follow.
  void write_weights(const float* values);

  LossScale& loss_scale() { return loss_scale_; }  // as the host knows it
  const LossScale& loss_scale() const { return loss_scale_; }
  void restore_loss_scale(const LossScaleState& state);

  std::vector<std::string> slots() const;  // the optimizer's, then "ema": one float a weight each
  // Copy the part of a window of a slot that this process's devices own; the window begins at
  // `flat`.
  void copy_state_out(size_t slot, FloatRange window, float* flat) const;
  void copy_state_in(size_t slot, FloatRange window, const float* flat);

 private:
  struct DeviceUpdate {  // of a device of this process
    ParameterUpdate::Options options;
    std::unique_ptr<ParameterUpdate> update;      // null: it updates nothing
    std::unique_ptr<TensorNorms> norms;           // null: none, or its front's
    std::unique_ptr<DeviceLossScale> loss_scale;  // null: the precision needs none
  };
  struct MemberShards {  // exchanges of a member of this process with the others
    std::unique_ptr<ShardExchange> weights, norms;  // norms: null where each knows all it needs
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
  // Returns the device whose norms a device writes and reads.
  int norms_device(int device) const {
    return strategy_.updates_every_replica() ? device : devices_.member_of(device).front;
  }
  void make_norms(const std::vector<WeightSpan>& spans, const BucketReducer::Options& reducer);
  void exchange_norms(int lane);
  void exchange_weights(int lane);

  DeviceSet& devices_;
  const ParameterLayout& layout_;
  const UpdateStrategy& strategy_;
  std::unique_ptr<Optimizer> optimizer_;
  Ema ema_;
  LossScale loss_scale_;
  std::vector<DeviceUpdate> updates_;           // one a device of this process
  std::vector<MemberShards> shards_;            // one a member of this process
  std::vector<std::vector<FloatRange>> owned_;  // weights that each member's devices own by shares
};

}  // namespace spire::inline training

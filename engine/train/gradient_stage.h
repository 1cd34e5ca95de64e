// First stage of a step: runs forward and backward of all towers, and sums their gradients over
// lanes, members and processes, bucket by bucket, while backward goes on.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/collective/cross_tower_sums.h"
#include "engine/collective/gradient_reduction.h"
#include "engine/train/device_set.h"
#include "engine/train/step_metrics.h"
#include "engine/train/tower_runner.h"

namespace spire::inline training {

// Thread ownership: train() and evaluate() belong to the lane they name, the rest to the thread
// that makes the trainer, or leads.
class GradientStage {
 public:
  struct Options {
    GraphBuilder build;
    BucketReducer::Options reducer;  // of all members
    LaneOptions lane;                // what all lanes have in common
  };
  // Compiles the plans, each lane's on its own thread. devices and layout outlive this. Throws what
  // compiling throws.
  GradientStage(DeviceSet& devices, const ParameterLayout& layout, const Options& options);

  ~GradientStage();
  GradientStage(const GradientStage&) = delete;
  GradientStage& operator=(const GradientStage&) = delete;

  MemoryUse memory(int device) const;  // to allocate for its lanes; for its member, as the front
  void allocate();                     // each lane's on its own thread; throws Error(out_of_memory)
  void connect();  // gradient buffers with the reductions of their members; before train()

  void begin_step();  // the leading thread, before the lanes call train()
  // Runs the lane's towers and reduces their buckets. On return the lane's stream is behind all
  // sums that its member gets. Throws what kernels throw, PeerLost, BarrierBroken.
  void train(int lane, const StepJob& job);
  void evaluate(int lane, const StepJob& job);  // forward; sums are in job.metrics
  void interrupt();  // releases all lanes that wait for others, where one has failed

  // In memory that the member's devices reach: sums of gradients (a flat buffer, filled in the
  // member's part by the strategy), and the squares of their chunks.
  const float* sums(const LocalMember& member) const;
  std::span<double> squares(const LocalMember& member) const;
  size_t chunks() const;  // of TreeSum::chunk floats

  std::optional<RecomputeInfo> recompute() const { return runners_.front()->recompute(); }
  bool has_blocks() const { return runners_.front()->has_blocks(); }

 private:
  struct MemberReduction {  // of a member of this process
    std::unique_ptr<DeviceMemory> squares;
    std::unique_ptr<CrossTowerSums> tower_sums;  // null: plans have no sums over towers
    std::unique_ptr<GradientReduction> reduction;
  };
  MemberReduction& reduction_of_lane(int lane) {
    return members_[static_cast<size_t>(devices_.member_of_lane(lane).position)];
  }
  std::vector<NodeBuffer> node_buffers(const LocalMember& member) const;
  void make_tower_sums(const LocalMember& member);
  void make_reduction(const LocalMember& member);

  DeviceSet& devices_;
  const ParameterLayout& layout_;
  BucketReducer::Options reducer_;
  std::vector<std::unique_ptr<TowerRunner>> runners_;  // one a lane
  std::vector<MemberReduction> members_;               // of this process
  std::vector<LaneContext> contexts_;                  // one a lane
};

}  // namespace spire::inline training

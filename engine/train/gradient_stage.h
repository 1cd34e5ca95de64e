// First stage of a step: runs forward and backward of all towers (shares of the global batch)
// and sums their gradients over all lanes and devices, bucket by bucket, while backward goes on, or
// chunk by chunk when the update asks for them (Options::sum_in_update).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/step_metrics.h"
#include "engine/train/tower_runner.h"
#include "engine/update/cross_tower_sums.h"
#include "engine/update/gradient_reduction.h"

namespace spire {

// Thread ownership: lane `lane` calls train() and evaluate(). Any thread may call interrupt() and,
// after connect(), the const methods. The thread that constructs the trainer, or the leading thread
// (LaneTeam::lead), calls the rest.
class GradientStage {
 public:
  struct Options {
    GraphBuilder build;
    BucketReducer::Options reducer;  // for all members of the run
    LaneOptions lane;                // the options that all lanes have in common
    bool sum_in_update = false;      // sum_chunk() makes the sums: GradientReduction::Options
  };
  // Compiles the plans, each lane's on its own thread. devices and layout outlive this. Throws what
  // Plan's constructor throws.
  GradientStage(DeviceSet& devices, const ParameterLayout& layout, const Options& options);

  ~GradientStage();
  GradientStage(const GradientStage&) = delete;
  GradientStage& operator=(const GradientStage&) = delete;

  // Returns what allocate() takes on a device. A member's reduction counts on its front device.
  MemoryUse memory(int device) const;
  void allocate();  // runs on each lane's thread; throws Error(out_of_memory)
  void connect();   // makes the reductions of the allocated buffers; call it before train()

  void observe(TensorObserver* observer);     // of later calls of train(); null: none
  void show_spans(int lane, SpanSink* sink);  // the same; between steps
  // member: local.
  void show_exchange_spans(const LocalMember& member, SpanSink* sink) {
    reduction_of(member).show_exchange_spans(sink);
  }
  Stream* exchange_stream(const LocalMember& member) {  // null if there is one member
    return reduction_of(member).exchange_stream();
  }
  void begin_step();  // the leading thread calls it before the lanes call train()
  // Runs the lane's towers and reduces their buckets. Later work on the lane's stream sees all sums
  // that its member receives; with `sum_in_update` nothing is summed yet, but all towers are done.
  // Throws what kernels throw, PeerLost, BarrierBroken.
  void train(int lane, const StepJob& job);
  void evaluate(int lane, const StepJob& job);  // runs forward; writes the sums to job.metrics
  bool sums_first() const { return !sum_in_update_; }  // train() leaves all sums and squares
  // Returns the sums of a chunk of the flat buffer, after train(): GradientReduction::sum_chunk.
  const float* sum_chunk(int lane, FloatRange chunk) {
    return reduction_of_lane(lane).reduction->sum_chunk(lane, chunk);
  }
  void interrupt();  // after a lane has failed: releases all lanes that wait for others

  // Sums of gradients (a flat buffer; the strategy decides which part the member receives), and the
  // sum of squares of each of its chunks, in memory that the member's devices can access. sums()
  // REQUIRES: not `sum_in_update`, which stores no sums.
  const float* sums(const LocalMember& member) const;
  std::span<double> squares(const LocalMember& member) const;
  size_t chunks() const;  // number of chunks of TreeSum::chunk floats

  std::optional<RecomputeInfo> recompute() const { return runners_.front()->recompute(); }
  bool has_blocks() const { return runners_.front()->has_blocks(); }

 private:
  struct MemberReduction {
    std::unique_ptr<DeviceMemory> squares;
    std::unique_ptr<CrossTowerSums> tower_sums;  // null if plans have no sums over towers
    std::unique_ptr<GradientReduction> reduction;
  };
  GradientReduction& reduction_of(const LocalMember& member) {
    return *members_[static_cast<size_t>(member.position)].reduction;
  }
  MemberReduction& reduction_of_lane(int lane) {
    return members_[static_cast<size_t>(devices_.member_of_lane(lane).position)];
  }
  std::vector<NodeBuffer> node_buffers(const LocalMember& member) const;
  void make_tower_sums(const LocalMember& member);
  void make_reduction(const LocalMember& member);

  DeviceSet& devices_;
  const ParameterLayout& layout_;
  BucketReducer::Options reducer_;
  std::vector<std::unique_ptr<TowerRunner>> runners_;  // one per lane
  std::vector<MemberReduction> members_;               // one per member of this process
  std::vector<LaneContext> contexts_;                  // one per lane
  bool sum_in_update_;                                 // Options::sum_in_update
};

}  // namespace spire

// First stage of a step: runs forward and backward of all towers (shares of the global batch) and
// sums their gradients over all lanes and devices. With several members, buckets of gradients are
// exchanged while backward goes on. With one member, all are summed when all towers are done or,
// without Options::sums_first, chunk by chunk when the update asks for them.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/train/device_set.h"
#include "engine/train/step_metrics.h"
#include "engine/train/tower_runner.h"
#include "engine/update/bucket_exchange.h"
#include "engine/update/cross_tower_sums.h"

namespace spire {

// Thread ownership: lane `lane` calls train() and evaluate(). Any thread may call interrupt() and,
// after connect(), the const methods. The thread that constructs the trainer, or the leading thread
// (LaneTeam::lead), calls the rest.
class GradientStage {
 public:
  struct Options {
    GraphBuilder build;
    LaneOptions lane;
    // False is for CPUs of one process whose update needs no norm: sum_chunk() then makes the sums.
    bool sums_first = true;
  };
  // Compiles the plans, each lane's on its own thread. All but the options outlive this. Throws
  // what Plan's constructor throws.
  GradientStage(DeviceSet& devices, const ParameterLayout& layout, const Ownership& who,
                const Options& options);

  ~GradientStage();
  GradientStage(const GradientStage&) = delete;
  GradientStage& operator=(const GradientStage&) = delete;

  // Returns what allocate() and connect() take on a device. A member's sums count on its front
  // device.
  MemoryUse memory(int device) const;
  void allocate();  // runs on each lane's thread; throws Error(out_of_memory)
  void connect();   // makes the sums of the allocated buffers; call it before train()

  void observe(TensorObserver* observer);     // sees later calls of train(); null: none
  void show_spans(int lane, SpanSink* sink);  // the same; call it between steps
  // member: local.
  void show_exchange_spans(const LocalMember& member, SpanSink* sink) {
    if (auto& exchange = sums_of(member).exchange) exchange->show_exchange_spans(sink);
  }
  Stream* exchange_stream(const LocalMember& member) {  // null if there is one member
    auto& exchange = sums_of(member).exchange;
    return exchange ? &exchange->stream() : nullptr;
  }
  // The leading thread calls it before the lanes call train() with this batch.
  void begin_step(const Batch& batch);
  // Runs forward and backward of the lane's towers. Work that the lane submits afterwards runs
  // after all towers of its member and, with sums_first(), sees all sums that its member receives;
  // other members may still read the lane's gradients until the lanes have met (DeviceSet::meet).
  // Throws what kernels throw, PeerLost, BarrierBroken.
  void train(int lane, const StepJob& job);
  void evaluate(int lane, const StepJob& job);     // runs forward; writes the sums to job.metrics
  bool sums_first() const { return sums_first_; }  // train() makes all sums and squares
  // On a CPU, after train(): returns the sums of a chunk of the flat buffer, the first of which is
  // that of chunk.begin; valid until the lane's next call. Without sums_first() they are made and
  // squared here: then exactly one lane calls it for a chunk, once.
  const float* sum_chunk(int lane, FloatRange chunk);
  // On GPUs: waits until the device has exchanged the buckets of the latest step, or of the one
  // before, one after the other: the lane's status names the one that hangs.
  void await_exchange(int lane, bool step_before);
  void interrupt();  // after a lane has failed: releases all lanes that wait for others

  // Sums of gradients (a flat buffer; the strategy decides which part the member receives), and the
  // sum of squares of each of its chunks, in memory that the member's devices can access. sums()
  // REQUIRES: sums_first(), as else they are not stored.
  float* sums(const LocalMember& member) const;
  std::span<double> squares(const LocalMember& member) const;
  size_t chunks() const;  // number of chunks of TreeSum::chunk floats

  std::optional<RecomputeInfo> recompute() const { return runners_.front()->recompute(); }
  bool has_blocks() const { return runners_.front()->has_blocks(); }

 private:
  struct MemberSums {
    std::unique_ptr<DeviceMemory> squares;
    std::unique_ptr<CrossTowerSums> tower_sums;  // null if plans have no sums over towers
    std::unique_ptr<GradientSums> sums;
    std::unique_ptr<BucketExchange> exchange;  // null if there is one member
  };
  MemberSums& sums_of(const LocalMember& member) {
    return members_[static_cast<size_t>(member.position)];
  }
  MemberSums& sums_of_lane(int lane) { return sums_of(devices_.member_of_lane(lane)); }
  std::vector<NodeBuffer> peers_buffers(const LocalMember& member) const;
  void make_tower_sums(const LocalMember& member);
  void make_sums(const LocalMember& member);
  void make_exchange(const LocalMember& member);
  void sum(int lane, LaneClock& clock);
  bool loads_kernels(const Batch& batch);
  bool alone() const {  // a lane that waits for none
    return devices_.lanes() == 1 && devices_.member_count() == 1;
  }

  DeviceSet& devices_;
  const ParameterLayout& layout_;
  const Ownership& who_;
  std::vector<std::unique_ptr<TowerRunner>> runners_;  // one per lane
  std::vector<MemberSums> members_;                    // one per member of this process
  std::vector<LaneContext> contexts_;                  // one per lane
  std::set<int64_t> seen_batches_;                     // numbers of samples of steps so far
  bool loads_kernels_ = false;                         // in this step
  const bool sums_first_;
};

}  // namespace spire

// Sums gradients over the members of a run while backward goes on, bucket by bucket. A thread takes
// each bucket when all lanes of the member have completed it:
// 1. Sums over lanes. On CPUs each lane adds up its share; on GPUs the thread adds up the member's
//    shard of the gradients of all peers, whose memory it reads, on a stream of its own.
// 2. A reduce-scatter with the other members: each gets what they have of its shard, and adds it up
//    along the tree. Reduction::native uses the transport's all-reduce where there are no peers.
// 3. The sums are sent to the members that update with them.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/device/spans.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/update/exchange.h"
#include "engine/update/gradient_sums.h"

namespace spire {

// The leading thread calls begin_step() while no lane works; each lane calls gradients_ready() and
// finish() for itself, by its number among the lanes of the process.
class BucketExchange {
 public:
  struct Options {
    std::vector<int> cores;  // of the thread; empty: as this thread's
    int first_lane = 0;      // of the member
    int thread_row = 0;      // the exchange thread's row of `status`; a lane's is its number
  };
  // sums: this member's; after finish() its squares() are complete, over all members. memory: pool
  // of the device that exchanges. All but the options outlive this.
  BucketExchange(const Ownership& who, const Options& options, GradientSums& sums,
                 Communicator& exchange, MemoryPool& memory, ThreadStatus& status);
  ~BucketExchange();
  BucketExchange(const BucketExchange&) = delete;
  BucketExchange& operator=(const BucketExchange&) = delete;
  // Returns the bytes that the exchange of that member allocates: room for what it receives of one
  // bucket, and for what it sends and receives as bf16.
  static size_t staging_bytes(const Ownership& who, int member);

  // Call them between steps: from now on the sink is shown what the lane, or the exchange thread,
  // does with buckets; null: no sink.
  void show_spans(int lane, SpanSink* sink) { lane_at(lane).spans = sink; }
  void show_exchange_spans(SpanSink* sink) { spans_ = sink; }
  Stream& stream() { return *stream_; }

  // overlap: false: exchanges nothing before all lanes of the member have called finish().
  void begin_step(bool overlap = true);
  // The lane announces that [0, ready) of its gradient sums, over all its towers, is final once its
  // stream has done its present work. Throws BarrierBroken after abort_waits().
  void gradients_ready(int lane, int64_t ready);
  // Adds up the rest of the lane's shares and waits until all buckets are exchanged; on a GPU until
  // that is enqueued, and the lane's stream waits. Throws PeerLost, BarrierBroken, or the thread's
  // LaneError.
  void finish(int lane);
  // On a GPU: a point in the work of the latest step, or of the one before, at which the bucket is
  // exchanged. REQUIRES: finish() has been called in that step, and no step begins meanwhile.
  const Event& exchanged(size_t bucket, bool step_before) const {
    return *buckets_[bucket].end[(generation_.load() - (step_before ? 1 : 0)) % 2];
  }
  void abort_waits();  // releases all lanes that wait here, now or later
  // Ends the thread and its stream's work. Stop all exchanges of a process before one is destroyed,
  // as peers read what it sends.
  void stop();

 private:
  struct Messages {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
  };
  struct Halved {  // a part of a message of bf16 numbers, beside the floats that it stands for
    float* floats;
    bfloat16* halves;
    int64_t count;
  };
  struct Bucket {
    std::vector<FloatRange> summed_for_peers;  // on GPUs, by the thread
    Messages scatter;
    std::vector<Halved> narrowed, widened;        // before and after the messages
    std::unique_ptr<TreeSum> tree;                // of the own shard; null: by an all-reduce
    std::atomic<uint32_t> arrived{0}, summed{0};  // lanes; summed: on CPUs
    std::unique_ptr<Event> end[2];                // of the exchange, in steps in turn
  };
  struct alignas(64) Lane {
    Stream* stream = nullptr;
    SpanSink* spans = nullptr;
    std::vector<std::unique_ptr<Event>> arrival;  // one per bucket
    size_t arrived = 0, summed = 0;               // numbers of buckets in this step
  };
  Lane& lane_at(int lane) { return lanes_[static_cast<size_t>(lane - options_.first_lane)]; }
  void plan(size_t bucket, bfloat16* halves);
  void sum_shares(int lane, size_t until, bool wait);
  void run();
  void exchange_all(uint32_t step);
  void reduce(size_t bucket);
  void gather(size_t bucket);
  uint32_t all() const { return static_cast<uint32_t>(lanes_.size()); }

  const Ownership& who_;
  Options options_;
  GradientSums& sums_;
  Communicator& exchange_;
  const bool lanes_sum_;  // on CPUs
  ThreadStatus& status_;
  std::vector<Lane> lanes_;
  std::vector<Bucket> buckets_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<LaneArithmetic> arithmetic_;
  std::unique_ptr<DeviceMemory> staging_;  // others' nodes of this member's shard; then bf16
  ShardExchange gather_, squares_;
  std::unique_ptr<Event> end_;
  SpanSink* spans_ = nullptr;
  bool overlap_ = true;
  std::atomic<uint32_t> finished_{0};    // lanes that have called finish()
  std::atomic<uint32_t> generation_{0};  // step number; the thread waits for it
  std::atomic<uint32_t> exchanged_{0};   // 1 after the thread has exchanged all buckets
  std::atomic<bool> broken_{false}, released_{false}, quit_{false};
  std::exception_ptr error_;  // the thread's; written before exchanged_
  std::jthread thread_;
};

}  // namespace spire

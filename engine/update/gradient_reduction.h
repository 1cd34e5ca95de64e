// Sums the gradients of all towers during backward, bucket by bucket (a bucket: a range of the flat
// gradient buffer). Whenever a lane completes a bucket, it adds up its share of those buckets that
// all lanes have completed; it waits for other lanes only after its own towers are done. With
// several members (exchange.h) an exchange thread then reduces each bucket over them.
//
// Options::sum_in_update is the other way, for CPUs whose update needs no norm: lanes add up
// nothing before all towers are done; then the update calls sum_chunk() and uses the sum while it
// is in the cache. It is stored nowhere.
//
// The devices of all lanes can access all buffers. Threads: the leading lane calls begin_step()
// while no lane works; each lane calls arrive() and finish() for itself.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/device/spans.h"
#include "engine/update/bucket_reducer.h"
#include "engine/update/exchange.h"
#include "engine/update/lane_arithmetic.h"

namespace spire {

struct NodeBuffer {  // a lane's gradient buffer, with the sum over the towers of one tree node
  TowerRange node;
  float* data = nullptr;
  DeviceId device = {};  // device in whose memory it is
};

class GradientReduction {
 public:
  struct Options {
    BucketReducer::Options exchange;
    MemoryPool* memory = nullptr;  // pool of the device that exchanges; outlives this
    int64_t trained = 0;           // floats of gradients; sums of running statistics follow
    // Receives the sum of squares of each chunk (TreeSum::chunk floats) of [0, trained), other
    // members' included. The lanes' devices can access it; with several members it is in `memory`.
    double* chunk_squares = nullptr;
    // false: exchanges after the last bucket, as sums over towers use the connections before.
    bool overlap = true;
    bool sum_in_update = false;  // see above. REQUIRES: CPUs, one member
    // One per lane of this member; outlive this. The first lane's number is first_lane.
    std::vector<Stream*> streams;
    std::vector<int> exchange_cores;  // cores of the exchange thread; empty: as this thread's
    int first_lane = 0;
    int thread_row = 0;  // the exchange thread's row of the thread status
  };
  // buffers: those of this member's lanes, in tower order. exchange: null if there is one member.
  GradientReduction(const Options& options, const std::vector<NodeBuffer>& buffers,
                    Communicator* exchange, ThreadStatus& status);
  ~GradientReduction();

  // Returns the tree nodes whose sums a member with the towers `range` computes.
  static std::vector<TowerRange> member_nodes(Reduction order, int towers, TowerRange range);

  // Returns the bytes that member `rank`'s exchange allocates. Does not read NodeBuffer::data.
  static size_t exchange_bytes(const BucketReducer::Options& options, int rank,
                               const std::vector<NodeBuffer>& buffers, DeviceId device);

  // Between steps: from now on the sinks are shown what a lane, or the exchange thread, does with
  // buckets; null: nobody. exchange_stream() is null if there is one member.
  void show_spans(int lane, SpanSink* sink) { lane_at(lane).spans = sink; }
  void show_exchange_spans(SpanSink* sink) { exchange_spans_ = sink; }
  Stream* exchange_stream() const { return exchange_stream_.get(); }

  void begin_step();
  // The lane announces that [0, ready) of its gradient sums, over all its towers, is final once its
  // stream has done its present work. Throws BarrierBroken after break_up().
  void arrive(int lane, int64_t ready);
  // After the lane's last arrive(): adds up the rest of the lane's shares and waits until all
  // buckets are reduced; on a GPU the lane's stream waits. With `sum_in_update` it waits until all
  // towers are done. Throws PeerLost, BarrierBroken, or the exchange thread's LaneError.
  void finish(int lane);
  void break_up();  // releases all lanes that wait here, now or later

  // Return sums; call them after finish(). sum_chunk(): on a CPU, those of a chunk of the flat
  // buffer, from its first float on; with `sum_in_update` they are made and squared here, so one
  // lane asks for each chunk once, and are valid until its next call. sums(): all, or those of this
  // member's shards. REQUIRES: not `sum_in_update`.
  const float* sum_chunk(int lane, FloatRange chunk);
  const float* sums() const { return nodes_.front().data; }  // all sums, or those of its shards
  const std::vector<FloatRange>& buckets() const { return options_.exchange.buckets; }

 private:
  struct MemberNode {
    TreeSum tree;
    float* data;  // receives the sum: a leaf's buffer or staged_ memory
  };
  using Leaves = std::vector<const NodeBuffer*>;  // a member's buffers within one node
  static Leaves leaves_of(TowerRange node, const std::vector<NodeBuffer>& buffers);
  static const NodeBuffer* leaf_on(DeviceId device, const Leaves& leaves);
  static int64_t floats(const BucketReducer::Options& options);
  float* place_of(const Leaves& leaves, bool exchanged);
  void await_towers(int lane);
  void sum_shares(int lane, size_t until, bool wait);
  template <typename Point>
  void wait_for_others(int lane, Point point);
  void sum_share(int lane, size_t bucket);
  void square(LaneArithmetic& arithmetic, FloatRange range);
  void bucket_summed(size_t bucket);
  void make_exchange(Communicator& exchange);
  void run_exchange();
  int thread_row() const { return options_.thread_row; }
  void exchange_step();

  Options options_;
  ThreadStatus& status_;
  // For sums none of whose leaves is in memory that can be exchanged.
  std::vector<std::unique_ptr<DeviceMemory>> staged_;
  std::vector<MemberNode> nodes_;
  struct alignas(64) Lane {
    Stream* stream = nullptr;
    SpanSink* spans = nullptr;
    std::unique_ptr<LaneArithmetic> arithmetic;
    std::vector<std::unique_ptr<Event>> arrival;  // one per bucket
    std::vector<std::unique_ptr<Event>> share;    // one per bucket, with several members
    std::unique_ptr<Event> end;                   // after the last share
    Buffer scratch;                               // sum_in_update: for TreeSum::sum()
    size_t arrived = 0, summed = 0;               // numbers of buckets in this step
  };
  Lane& lane_at(int lane) { return lanes_[static_cast<size_t>(lane - options_.first_lane)]; }
  std::vector<Lane> lanes_;
  std::unique_ptr<std::atomic<uint32_t>[]> arrived_, summed_;  // per bucket: lanes
  std::atomic<bool> broken_{false};
  std::atomic<bool> released_{false};  // break_up() was called

  std::unique_ptr<Stream> exchange_stream_;
  SpanSink* exchange_spans_ = nullptr;
  std::unique_ptr<LaneArithmetic> exchange_arithmetic_;
  std::optional<BucketReducer> exchange_;
  std::optional<ShardExchange> squares_exchange_;
  std::unique_ptr<Event> exchange_end_;
  std::atomic<uint32_t> generation_{0};  // step number; the exchange thread waits for it
  std::atomic<uint32_t> exchanged_{0};   // 1 after the thread has reduced all buckets
  std::atomic<bool> quit_{false};
  std::exception_ptr error_;  // the exchange thread's error; written before exchanged_
  std::jthread thread_;
};

}  // namespace spire

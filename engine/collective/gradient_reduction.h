// Sums the gradients of all towers during backward. At the end of a bucket a lane adds up its share
// of the buckets that all lanes have completed; none waits for others before its towers are done.
// With several members an exchange thread then reduces each bucket over them (bucket_reducer.h).
//
// The devices of all lanes reach all buffers. Threads: the leading lane calls begin_step() while no
// lane works; a lane calls its own arrive() and finish().
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

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/exchange.h"
#include "engine/collective/lane_arithmetic.h"

namespace spire::inline collective {

struct NodeBuffer {  // a lane's gradient buffer: the sum over the towers of `node`
  TowerRange node;
  float* data = nullptr;
  DeviceId device = {};  // where it lies
};

class GradientReduction {
 public:
  struct Options {
    BucketReducer::Options exchange;
    MemoryPool* memory = nullptr;  // of the device whose memory is exchanged; outlives this
    int64_t trained = 0;           // the norm is that of [0, trained); running statistics follow
    // fp64 sums of squares, one a chunk of TreeSum::chunk floats of [0, trained), from every
    // member. The lanes' devices reach it; with an exchange it lies in that device's own memory.
    double* chunk_squares = nullptr;
    // false: exchanges after the last bucket, since plans with sums over towers use the
    // connections.
    bool overlap = true;
    // One a lane of this member; outlive this. Lanes and thread status rows count from first_lane.
    std::vector<Stream*> streams;
    std::vector<int> exchange_cores;  // of the exchange thread; empty: its creator's
    int first_lane = 0;
    int thread_row = 0;  // of the exchange thread
  };
  // buffers: of this member's lanes, in tower order. exchange: may be null for one member.
  GradientReduction(const Options& options, const std::vector<NodeBuffer>& buffers,
                    Communicator* exchange, ThreadStatus& status);
  ~GradientReduction();

  // Returns the nodes of the tree whose sums a member with these towers computes.
  static std::vector<TowerRange> member_nodes(Reduction order, int towers, TowerRange range);

  // Returns the bytes that the exchange of such a member allocates. Ignores the data of `buffers`.
  static size_t exchange_bytes(const BucketReducer::Options& options, int rank,
                               const std::vector<NodeBuffer>& buffers, DeviceId device);

  void begin_step();
  // Announces that the lane's gradients [0, ready) are final in all its towers once its stream has
  // done its present work. Throws BarrierBroken after break_up().
  void arrive(int lane, int64_t ready);
  // Adds up the rest of the lane's shares; waits until every bucket is reduced (GPU: makes the
  // stream wait). Throws PeerLost, LaneError of the exchange thread, or BarrierBroken.
  void finish(int lane);
  void break_up();  // releases all lanes that wait here, now or later

  const float* sums() const { return nodes_.front().data; }  // all, or this member's shards
  const std::vector<FloatRange>& buckets() const { return options_.exchange.buckets; }

 private:
  struct MemberNode {
    TreeSum tree;
    float* data;  // receives the sum: the buffer of a leaf, or staged memory
  };
  using Leaves = std::vector<const NodeBuffer*>;  // of a member, in one node
  static Leaves leaves_of(TowerRange node, const std::vector<NodeBuffer>& buffers);
  static const NodeBuffer* leaf_on(DeviceId device, const Leaves& leaves);
  static int64_t floats(const BucketReducer::Options& options);
  float* place_of(const Leaves& leaves, bool exchanged);
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
  std::vector<std::unique_ptr<DeviceMemory>>
      staged_;  // of sums without a leaf in exchangeable memory
  std::vector<MemberNode> nodes_;
  struct alignas(64) Lane {
    Stream* stream = nullptr;
    std::unique_ptr<LaneArithmetic> arithmetic;
    std::vector<std::unique_ptr<Event>> arrival;  // one a bucket
    std::vector<std::unique_ptr<Event>> share;    // one a bucket; only with an exchange
    std::unique_ptr<Event> end;                   // after the last share
    size_t arrived = 0, summed = 0;               // buckets, this step
  };
  Lane& lane_at(int lane) { return lanes_[static_cast<size_t>(lane - options_.first_lane)]; }
  std::vector<Lane> lanes_;
  std::unique_ptr<std::atomic<uint32_t>[]> arrived_, summed_;  // number of lanes, by bucket
  std::atomic<bool> broken_{false};
  std::atomic<bool> released_{false};  // break_up() was called

  std::unique_ptr<Stream> exchange_stream_;
  std::unique_ptr<LaneArithmetic> exchange_arithmetic_;
  std::optional<BucketReducer> exchange_;
  std::optional<ShardExchange> squares_exchange_;
  std::unique_ptr<Event> exchange_end_;
  std::atomic<uint32_t> generation_{0};  // step number; the exchange thread waits for it
  std::atomic<uint32_t> exchanged_{0};   // 1 when the thread has reduced all buckets of the step
  std::atomic<bool> quit_{false};
  std::exception_ptr error_;  // published by the release of exchanged_
  std::jthread thread_;
};

}  // namespace spire::inline collective

// Gradients of all towers become one sum while backward still goes on. A member's lanes share the
// work: a lane that has completed a bucket says so, and whenever it passes the end of a bucket it
// adds up its own share of those buckets that all lanes have completed. No lane ever waits for that
// before its towers are done. With more than one member a thread of its own then exchanges each
// bucket with the others (bucket_reducer.h), on a stream of one of the lanes' devices.
//
// On GPUs "has completed" is a point in a lane's stream: whoever adds up a bucket lets its own
// stream wait for those of the others. All buffers lie where the devices of all lanes reach them.
//
// Thread ownership: begin_step() belongs to the leading lane while no lane works; arrive() and
// finish() to the lane they name.
#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/lane_arithmetic.h"
#include "engine/collective/shard_exchange.h"

namespace spire::inline collective {

// The sum over `node` that a lane leaves in `data` (whole gradient buffer).
struct NodeBuffer {
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
    // One a chunk of TreeSum::chunk floats of [0, trained): where the fp64 sums of squares go, in
    // every member, in memory that the lanes' devices reach; of that device, if it is exchanged.
    double* chunk_squares = nullptr;
    // false: members exchange nothing before this one's last bucket is complete. For plans with
    // sums over towers inside: these use the same connections while backward goes on.
    bool overlap = true;
    // One a lane of this member; they outlive this. The lanes are those from first_lane on, as are
    // their rows of the board; thread_row is the thread's.
    std::vector<Stream*> streams;
    std::vector<int> exchange_cores;  // where the thread runs; empty: where its creator does
    int first_lane = 0, thread_row = 0;
  };
  // buffers: of this member's lanes, in tower order. exchange: null or of one member: none.
  GradientReduction(const Options& options, const std::vector<NodeBuffer>& buffers,
                    Communicator* exchange, ThreadStatus& board);
  ~GradientReduction();

  // Nodes of the tree that a member with these towers has the sums of.
  static std::vector<TowerRange> member_nodes(Reduction order, int towers, TowerRange range);

  // What the exchange of such a member will allocate; buffers: their data does not matter.
  static size_t exchange_bytes(const BucketReducer::Options& options, int rank,
                               const std::vector<NodeBuffer>& buffers, DeviceId device);

  void begin_step();
  // The lane's gradients [0, ready) are final, in all its towers, behind the work its stream has.
  // Throws BarrierBroken after break_up().
  void arrive(int lane, int64_t ready);
  // After the lane's last arrive(): adds what is left of its shares, then waits until every bucket
  // is reduced, or is behind what the lane's stream waits for. Throws PeerLost, LaneError from the
  // exchange, or BarrierBroken after break_up().
  void finish(int lane);
  // Releases all lanes that wait here, now and later: one of them failed.
  void break_up();

  // What a bucket's sum is in, once reduced: all of it, or this member's slices.
  const float* sums() const { return nodes_.front().data; }
  const std::vector<FloatRange>& buckets() const { return options_.exchange.buckets; }

 private:
  struct MemberNode {
    TreeSum tree;
    float* data;  // of a leaf, which its sum takes the place of; or staged
  };
  // A node's leaves among the buffers of a member.
  using Leaves = std::vector<const NodeBuffer*>;
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
  ThreadStatus& board_;
  std::vector<std::unique_ptr<DeviceMemory>> staged_;  // sums of which no leaf can be exchanged
  std::vector<MemberNode> nodes_;
  struct alignas(64) Lane {
    Stream* stream = nullptr;
    std::unique_ptr<LaneArithmetic> arithmetic;
    std::vector<std::unique_ptr<Event>> arrival;  // one a bucket
    std::vector<std::unique_ptr<Event>> share;    // the same, for the exchange alone
    std::unique_ptr<Event> end;                   // behind the last share
    size_t arrived = 0, summed = 0;               // buckets, this step
  };
  Lane& lane_at(int lane) { return lanes_[static_cast<size_t>(lane - options_.first_lane)]; }
  std::vector<Lane> lanes_;
  std::unique_ptr<std::atomic<uint32_t>[]> arrived_, summed_;  // lanes, of each bucket
  std::atomic<bool> broken_{false};
  std::atomic<bool> released_{false};  // break_up() was called

  // Of the exchange thread:
  std::unique_ptr<Stream> exchange_stream_;
  std::unique_ptr<LaneArithmetic> exchange_arithmetic_;
  std::optional<BucketReducer> exchange_;
  std::optional<ShardExchange> squares_exchange_;
  std::unique_ptr<Event> exchange_end_;
  std::atomic<uint32_t> generation_{0};  // of steps; the exchange thread waits for it
  std::atomic<uint32_t> exchanged_{0};   // 1 when the thread is done with the step's buckets
  std::atomic<bool> quit_{false};
  std::exception_ptr error_;  // of the exchange thread; written before exchanged_
  std::jthread thread_;
};

}  // namespace spire::inline collective

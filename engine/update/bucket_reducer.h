// Reduces gradient buckets (ranges of the flat gradient buffer) over the R members of a run
// (exchange.h). A member has the sums of those nodes of the tree (tree.h) that contain only its
// towers, and owns one shard of every bucket. A reduce-scatter adds up each shard; then the sums go
// to the members that `SumsTo` names. Reduction::native uses the transport's all-reduce instead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/memory_pool.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/update/exchange.h"
#include "engine/update/lane_arithmetic.h"
#include "engine/update/tree.h"

namespace spire {

enum class SumsTo : uint8_t {
  root,          // strategy parameter_device: the sums go to one member
  everyone,      // mirrored: to all, by an all-gather: (R - 1) / R of the bucket out and in
  shard_owners,  // sharded: each keeps the sums of its shard, without further messages
};

struct Share {                     // contiguous devices: of a process, of a member, or one device
  int begin = 0, end = 0, of = 1;  // devices [begin, end) of the run's `of` devices
  int size() const { return end - begin; }
};

struct RankShares {
  std::vector<Share> share;                     // devices of each member
  std::vector<std::vector<TowerRange>> towers;  // per member, the nodes whose sums it has
};

class BucketReducer {
 public:
  struct Options {  // a `rank` below is the index of a member
    Reduction order = Reduction::invariant;
    int towers = 1;
    std::vector<FloatRange> buckets;
    RankShares ranks;
    SumsTo to = SumsTo::root;
    int root = 0;

    FloatRange shard(size_t bucket, int rank) const;  // the part that the member owns
    // Returns the chunks of [0, floats) in each member's shards, as ranges of chunk indices.
    std::vector<std::vector<FloatRange>> chunk_shards(int64_t floats) const;
  };
  // nodes: flat gradient buffers with the sums of this member's nodes, on the stream's device; the
  // first one receives the result. exchange, stream and memory belong to the same device and
  // outlive this. row: row of `status` in which the phase is reported.
  BucketReducer(const Options& options, std::vector<float*> nodes, Communicator& exchange,
                Stream& stream, MemoryPool& memory, ThreadStatus& status, int row);
  ~BucketReducer();
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  // Reduces after the stream's present work. Allocates nothing after step 1. Throws PeerLost.
  void reduce(size_t bucket);

  FloatRange shard(size_t bucket) const { return options_.shard(bucket, exchange_.rank()); }

  // Returns the bytes that the reducer of member `rank` allocates.
  static size_t staging_bytes(const Options& options, int rank);

 private:
  struct Messages {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
  };
  struct Step {
    Messages scatter, gather;
    std::unique_ptr<TreeSum> tree;
  };
  float* plan(size_t bucket, float* staging);
  void plan_gather(size_t bucket);
  void run(size_t bucket, const Messages& messages);

  Options options_;
  std::vector<float*> nodes_;
  Communicator& exchange_;
  Stream& stream_;
  ThreadStatus& status_;
  int row_;
  std::vector<Step> steps_;                // one per bucket
  std::unique_ptr<DeviceMemory> staging_;  // receives this member's shards of other nodes
  std::unique_ptr<LaneArithmetic> arithmetic_;
};

}  // namespace spire

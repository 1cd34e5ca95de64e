// Reduces gradient buckets over the R members of a run (exchange.h). A member has the sums of the
// tree's nodes inside its towers, and owns one shard of every bucket. A reduce-scatter adds up each
// shard; then the sums go to `SumsTo`. Reduction::native is the transport's all-reduce instead.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/collective/exchange.h"
#include "engine/collective/lane_arithmetic.h"
#include "engine/collective/tree.h"
#include "engine/device/memory_pool.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire::inline collective {

enum class SumsTo : uint8_t {
  root,          // parameter_device: one member
  everyone,      // mirrored: (R - 1) / R of the bucket out and in, as in the reduce-scatter
  shard_owners,  // sharded: no further messages
};

struct Share {                     // contiguous devices of a process or of a member, or one
  int begin = 0, end = 0, of = 1;  // devices [begin, end) of all `of` devices
  int size() const { return end - begin; }
};

struct RankShares {
  std::vector<Share> share;                     // by member
  std::vector<std::vector<TowerRange>> towers;  // nodes whose sums a member holds, by member
};

class BucketReducer {
 public:
  struct Options {
    Reduction order = Reduction::invariant;
    int towers = 1;
    std::vector<FloatRange> buckets;
    RankShares ranks;
    SumsTo to = SumsTo::root;
    int root = 0;

    FloatRange shard(size_t bucket, int rank) const;  // that the member owns
    // Returns the chunks (TreeSum::chunk floats each) of [0, floats) inside each member's shards.
    std::vector<std::vector<FloatRange>> chunk_shards(int64_t floats) const;
  };
  // nodes: whole buffers with the sums of this member's nodes, on the stream's device; the first
  // one receives the result. `exchange`, `stream` and `memory` are of one device and outlive this.
  // The phase is reported in `row` of the thread status.
  BucketReducer(const Options& options, std::vector<float*> nodes, Communicator& exchange,
                Stream& stream, MemoryPool& memory, ThreadStatus& status, int row);
  ~BucketReducer();
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  // Reduces after the stream's present work. Throws PeerLost. Allocates nothing after step 1.
  void reduce(size_t bucket);

  FloatRange shard(size_t bucket) const { return options_.shard(bucket, exchange_.rank()); }

  static size_t staging_bytes(const Options& options, int rank);  // that member's reducer allocates

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
  std::vector<Step> steps_;                // one a bucket
  std::unique_ptr<DeviceMemory> staging_;  // receives others' nodes of this member's shards
  std::unique_ptr<LaneArithmetic> arithmetic_;
};

}  // namespace spire::inline collective

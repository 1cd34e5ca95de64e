// Reduces gradient buckets over the R members of a run (communicator.h). A member holds the sums
// of the tree's nodes inside its own towers, and owns one slice of every bucket. In two stages:
//   1. reduce-scatter: each member sends the others their slices of its nodes and adds up the tree
//      what it receives for its own slice. It sends and receives (R - 1) / R of the bucket.
//   2. gather: the sums go to the root (parameter_device), to everyone (mirrored: again (R - 1) / R
//      out and in), or nowhere (sharded).
// With Reduction::native the transport's all-reduce replaces both stages.
#pragma once
#include <memory>
#include <vector>

#include "engine/collective/buckets.h"
#include "engine/collective/communicator.h"
#include "engine/collective/lane_arithmetic.h"
#include "engine/collective/tree.h"
#include "engine/device/memory_pool.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire::inline collective {

// The members that get the sums of the gradients.
enum class SumsTo : uint8_t { root, everyone, slice_owners };

// A contiguous part of the run's devices: of a process, of a member, or one device.
struct Share {
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

    FloatRange slice(size_t bucket, int rank) const;  // that the member owns
    // The chunks (TreeSum::chunk floats each) of [0, floats) inside each member's slices.
    std::vector<std::vector<FloatRange>> chunk_slices(int64_t floats) const;
  };
  // nodes: sums of this member's nodes, whole buffers in memory of the stream's device; the first
  // buffer receives the result. `exchange`, `stream` and `memory` are of one device and outlive
  // this. The phase is reported in `row` of the board.
  BucketReducer(const Options& options, std::vector<float*> nodes, Communicator& exchange,
                Stream& stream, MemoryPool& memory, ThreadStatus& board, int row);
  ~BucketReducer();
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  // Reduces the bucket after the work that the stream already has. Allocates nothing after the
  // first step. Throws PeerLost.
  void reduce(size_t bucket);

  FloatRange slice(size_t bucket) const { return options_.slice(bucket, exchange_.rank()); }

  // Bytes that the reducer of that member allocates.
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
  ThreadStatus& board_;
  int row_;
  std::vector<Step> steps_;                // one a bucket
  std::unique_ptr<DeviceMemory> staging_;  // receives others' nodes of this member's slices
  std::unique_ptr<LaneArithmetic> arithmetic_;
};

}  // namespace spire::inline collective

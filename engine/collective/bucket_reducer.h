// The reduction of one bucket over the R members of a run (communicator.h). Each member holds
// the sums of the tree nodes inside its own towers; each is responsible for a slice of every
// bucket:
//   1. reduce-scatter: every member sends the others their slices of its nodes, and adds the nodes
//      it receives for its own slice, up the tree. On the wire (R - 1) / R of the bucket out and
//      in.
//   2. the sums go to where the update needs them: to the root (parameter_device), to everyone
//      (mirrored: again (R - 1) / R out and in), or nowhere (sharded).
// With Reduction::native the transport's own all-reduce takes the place of both.
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

// Who gets the sums of the gradients.
enum class SumsTo : uint8_t { root, everyone, slice_owners };

// A part of the run's hardware: a process's, a member's, or one device.
struct Share {
  int begin = 0, end = 0, of = 1;  // devices [begin, end) of the run's
  int size() const { return end - begin; }
};

struct RankShares {
  std::vector<Share> share;                     // of each member
  std::vector<std::vector<TowerRange>> towers;  // nodes that each member has sums of
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

    FloatRange slice(size_t bucket, int rank) const;  // what the member is responsible for
    // Of each member, the chunks (TreeSum::chunk floats each) of [0, floats) in its slices.
    std::vector<std::vector<FloatRange>> chunk_slices(int64_t floats) const;
  };
  // nodes: sums of this member's nodes, whole buffers in memory of the stream's device; the first
  // one's buffer takes the result. All happens on `stream`, by `exchange`; both outlive this, as
  // does `memory`, of the same device. `row` of the board is told what goes on.
  BucketReducer(const Options& options, std::vector<float*> nodes, Communicator& exchange,
                Stream& stream, MemoryPool& memory, ThreadStatus& board, int row);
  ~BucketReducer();
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;

  // `bucket` is reduced here behind what the stream has now; allocates nothing after the first
  // step. Throws PeerLost.
  void reduce(size_t bucket);

  FloatRange slice(size_t bucket) const { return options_.slice(bucket, exchange_.rank()); }

  // What such a member will allocate.
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
  std::unique_ptr<DeviceMemory> staging_;  // what others send for this member's slices, all buckets
  std::unique_ptr<LaneArithmetic> arithmetic_;
};

}  // namespace spire::inline collective

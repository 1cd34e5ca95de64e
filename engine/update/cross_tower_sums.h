// Sums fp64 vectors over all towers (shares of the global batch) in the middle of a step, for
// synchronized batch normalization and `precision: exact`. Every member receives the rows of all
// towers; each lane adds them up in the order of the tree (LaneArithmetic::sum_rows).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"
#include "engine/update/exchange.h"
#include "engine/update/tree.h"

namespace spire {

class CrossTowerSums {
 public:
  struct Options {
    std::vector<int64_t> counts;          // lengths of the vectors that a plan sums
    std::vector<TowerRange> rank_towers;  // towers of each member, in order
    // All pointers outlive this.
    MemoryPool* memory = nullptr;      // pool of the device whose memory is exchanged
    StreamBarrier* joint = nullptr;    // barrier of this process's lanes
    int lane = 0;                      // a lane of that device; it makes the exchange
    Stream* stream = nullptr;          // stream of `lane`
    Communicator* exchange = nullptr;  // null if the run has a single member
  };
  explicit CrossTowerSums(const Options& options);
  static size_t row_bytes(const std::vector<int64_t>& counts);  // bytes of the longest vector
  // Returns the bytes of device memory that it allocates.
  static size_t bytes(const std::vector<int64_t>& counts, int towers);

  // Returns the rows (towers, count) of the step's sum number `index`, in memory that the
  // lanes of the member can access. A lane enqueues kernels that overwrite its towers' rows (`=`)
  // and calls meet(); kernels that it enqueues from there to its next meet() may read all rows.
  double* rows(size_t index) const;
  void meet(size_t index, int lane, int64_t count);  // throws PeerLost, BarrierBroken

 private:
  Options options_;
  // Two buffers, used in turn: a lane may write the next sum's rows while another reads these.
  std::unique_ptr<DeviceMemory> rows_[2];
  std::map<int64_t, ShardExchange> gathers_;  // count -> exchange of its rows
};

}  // namespace spire

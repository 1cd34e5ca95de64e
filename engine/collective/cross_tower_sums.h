// Sums fp64 vectors over all towers in lockstep, for synchronous batch normalization. Every member
// gets all rows; each lane adds them up in tree order (LaneArithmetic::sum_rows).
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/collective/exchange.h"
#include "engine/collective/tree.h"
#include "engine/device/lane_team.h"
#include "engine/device/memory_pool.h"

namespace spire::inline collective {

class CrossTowerSums {
 public:
  struct Options {
    std::vector<int64_t> counts;          // lengths of the vectors that a plan sums
    std::vector<TowerRange> rank_towers;  // of each member, in order
    MemoryPool* memory = nullptr;         // of the device whose memory is exchanged; outlives this
    StreamBarrier* joint = nullptr;       // of this process's lanes; outlives this
    int lane = 0;                         // of that device: makes the exchange
    Stream* stream = nullptr;             // that lane's; outlives this
    Communicator* exchange = nullptr;     // null for one member; outlives this
  };
  explicit CrossTowerSums(const Options& options);
  ~CrossTowerSums();
  CrossTowerSums(const CrossTowerSums&) = delete;
  CrossTowerSums& operator=(const CrossTowerSums&) = delete;
  static size_t row_bytes(const std::vector<int64_t>& counts);  // of the longest vector
  // Returns the bytes of device memory that it allocates.
  static size_t bytes(const std::vector<int64_t>& counts, int towers);

  // Returns the rows (towers, count) of the step's sum `index`, which all lanes' devices reach. A
  // lane enqueues kernels that write its towers' rows, with `=`, then calls meet(). Kernels that it
  // enqueues until its next meet() may read all rows.
  double* rows(size_t index) const;
  void meet(size_t index, int lane, int64_t count);  // throws PeerLost, BarrierBroken

 private:
  Options options_;
  // Two, in turn: a lane may write the next sum's rows while another still reads these.
  std::unique_ptr<DeviceMemory> rows_[2];
  std::map<int64_t, ShardExchange> gathers_;  // by count
};

}  // namespace spire::inline collective

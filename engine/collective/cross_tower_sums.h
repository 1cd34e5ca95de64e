// Sums over all towers of a step while the towers still run, in lockstep: the moments of
// synchronous batch normalization. Every tower writes a row; all rows reach every member; each
// lane adds them up in the fixed tree's order (LaneArithmetic::sum_rows). Nobody on the host waits
// for a device.
#pragma once
#include <map>
#include <memory>
#include <vector>

#include "engine/collective/shard_exchange.h"
#include "engine/collective/tree.h"
#include "engine/device/barrier.h"
#include "engine/device/memory_pool.h"

namespace spire::inline collective {

class CrossTowerSums {
 public:
  struct Options {
    std::vector<int64_t> counts;          // of all vectors of a plan
    std::vector<TowerRange> rank_towers;  // of each member, in order
    MemoryPool* memory = nullptr;         // of the device whose memory is exchanged; outlives this
    StreamBarrier* joint = nullptr;       // of this process's lanes; outlives this
    int lane = 0;                         // of that device: it exchanges
    Stream* stream = nullptr;             // that lane's; outlives this
    Communicator* exchange = nullptr;     // null for one member; outlives this
  };
  explicit CrossTowerSums(const Options& options);
  ~CrossTowerSums();
  CrossTowerSums(const CrossTowerSums&) = delete;
  CrossTowerSums& operator=(const CrossTowerSums&) = delete;
  static size_t row_bytes(const std::vector<int64_t>& counts);  // of the longest
  // Of that device.
  static size_t bytes(const std::vector<int64_t>& counts, int towers);

  // Every lane, for the same sum, `index` counting them within the step: gives its stream what
  // writes the rows of its towers, with `=`, and calls meet(). What it then gives its stream may
  // read all rows, (towers, count), up to its next meet(). In memory that the lanes' devices reach.
  double* rows(size_t index) const;
  void meet(size_t index, int lane, int64_t count);  // throws PeerLost, BarrierBroken

 private:
  Options options_;
  // Two sets of rows by turns: a lane may write the next sum's while another still reads this
  // one's.
  std::unique_ptr<DeviceMemory> rows_[2];
  std::map<int64_t, ShardExchange> gathers_;  // by count
};

}  // namespace spire::inline collective

// Sums over all towers of a step while the towers still run, in lockstep: the moments of
// synchronous batch normalisation. Every tower writes a row; all rows reach every process; each
// lane adds them up in the fixed tree's order.
#pragma once
#include <vector>

#include <spire/collective/tree.h>
#include <spire/device/device_memory.h>
#include <spire/device/lane_team.h>
#include <spire/process/process_group.h>

namespace spire {

class TowerVectors {
 public:
  // width: the longest vector. rank_towers: of each rank, in order. team: this process's lanes.
  TowerVectors(int64_t width, const std::vector<TowerRange>& rank_towers, ProcessGroup* group,
               LaneTeam& team);

  // Every lane, for the same sum, `index` counting them within the step: writes the rows of its
  // towers, calls meet(), then sum(). A row is written with `=`, and in memory of the host that the
  // lanes' streams can copy to.
  double* row(size_t index, int tower, int64_t count);
  void meet(size_t index, int lane, int64_t count);  // throws PeerLost, BarrierBroken
  void sum(size_t index, int lane, int64_t count, double* out);

 private:
  const double* add_rows(TowerRange node, const double* rows, int64_t count, double* out,
                         double* scratch) const;

  int64_t width_;
  std::vector<TowerRange> rank_towers_;
  int towers_;
  ProcessGroup* group_;
  LaneTeam& team_;
  // Two sets of rows in turn: a lane may write the next sum's while another still reads this one's.
  std::unique_ptr<DeviceMemory> rows_[2];
  std::vector<std::vector<double>> scratch_;  // one a lane
  std::vector<Outgoing> sends_;
  std::vector<Incoming> receives_;
};

}  // namespace spire

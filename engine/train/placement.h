// The placement of a run's towers on hardware: the devices of all ranks, this rank's lanes, and the
// towers of each. Results do not depend on it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/bucket_reducer.h"
#include "engine/device/lane_team.h"
#include "engine/device/topology.h"
#include "engine/train/members.h"
#include "engine/train/rank_place.h"
#include "engine/update/strategy.h"

namespace spire::inline training {

struct PlacedDevice {
  DeviceId id;
  int rank = 0;
  std::string description;  // "2 cores: 0-1", "1 core of 0-1"
  TowerRange towers;
  int member = 0;                 // index into Placement::members
  int first_lane = 0, lanes = 0;  // of its rank
};

struct Placement {
  std::vector<PlacedDevice> devices;  // of all ranks, in tower order; a member's are neighbours
  std::vector<Member> members;        // of all ranks, in tower order
  int rank = 0, ranks = 1;            // this process, and how many there are
  // This rank's lanes, in tower order; a device's are neighbours. A CPU's lanes may run on all
  // cores of the rank's share, a GPU's on those near it, until pin_lanes() gives each its own
  // cores.
  std::vector<LaneSpec> lanes;
  std::vector<std::vector<int>> lane_cores;  // where pin_lanes() pins each: a core a thread
  std::vector<TowerRange> lane_towers;
  std::vector<int> lane_device;  // index into devices
  int towers = 1, tower_threads = 1;
  int64_t batch_size = 1;  // samples a tower a step
  // Index into devices, one of rank 0's: the host reads the weights there, and by the strategy
  // parameter_device it updates them, unless updates_on_host.
  int parameter_device = 0;
  // GPUs with parameter_device: cpu alone: master weights and optimizer state lie in rank 0's host
  // memory, and these lanes of the CPU update them.
  bool updates_on_host = false;
  std::vector<LaneSpec> host_lanes;
  // Cores for this rank's other threads (readers, writers, exchange): all that it may use; with
  // GPUs only those near them, if there are any.
  std::vector<int> helper_cores;
  Strategy strategy = Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  std::string note;      // what `auto` chose and why; empty when all was named
  std::string exchange;  // how GPUs exchange data, and why; empty for CPUs

  int64_t global_batch() const { return batch_size * towers; }
  Share devices_of(int rank) const;  // a contiguous range of `devices`
  TowerRange towers_of(int rank) const;
  const Member& member_of(int device) const {
    return members[static_cast<size_t>(devices[static_cast<size_t>(device)].member)];
  }
};

// Chooses devices, divides towers among them and lanes among cores. ranks: as share_out() gives
// them, the same list on each rank. kept_tower_threads: of the checkpoint that the run resumes.
// Throws Error(device) for a device that this machine or build lacks, or that cuda.peer: direct
// cannot reach; Error(config) when batch sizes, towers and devices do not fit, or tower_threads
// differs from the kept one.
Placement place_towers(const RunConfig& config, const std::vector<RankPlace>& ranks, int rank,
                       std::optional<int> kept_tower_threads = {});

// States on which other devices the run gives the same bits, and whether towers divide evenly.
std::string guarantee(const Placement& placement);

std::string core_ranges(const std::vector<int>& cores);     // "0-2,5"
std::string describe_cores(const std::vector<int>& cores);  // "4 cores: 0-2,5"

}  // namespace spire::inline training

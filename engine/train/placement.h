// Who hosts what: the devices of all ranks, this rank's lanes, and the towers of each lane. Only
// this knows hardware; what a tower computes does not depend on it.
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
  // Of this rank, in tower order; a device's are neighbours. A CPU's lanes run on all cores of the
  // rank's share, those of a GPU near it, until pin_lanes() gives each cores of its own.
  std::vector<LaneSpec> lanes;
  std::vector<std::vector<int>> lane_cores;  // where pin_lanes() pins each: a core a thread
  std::vector<TowerRange> lane_towers;
  std::vector<int> lane_device;  // index into devices
  int towers = 1, tower_threads = 1;
  int64_t batch_size = 1;  // samples a tower a step
  // Index into devices; one of rank 0's: it has the weights first.
  int parameter_device = 0;
  // Of GPUs alone, by the strategy parameter_device: master weights and optimizer state lie in rank
  // 0's host memory, and the CPU updates them, with these lanes.
  bool updates_on_host = false;
  std::vector<LaneSpec> host_lanes;
  // Where threads of this rank run that are no lanes: all that it may use, near its GPUs if it has
  // some.
  std::vector<int> helper_cores;
  Strategy strategy = Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  std::string note;      // what `auto` chose and why; empty when all was named
  std::string exchange;  // how GPUs meet and why; empty where there is nothing to say

  int64_t global_batch() const { return batch_size * towers; }
  Share devices_of(int rank) const;  // a contiguous range of `devices`
  TowerRange towers_of(int rank) const;
  const Member& member_of(int device) const {
    return members[static_cast<size_t>(devices[static_cast<size_t>(device)].member)];
  }
};

// ranks: as share_out() gives them, the same list on each rank. kept_tower_threads: of the
// checkpoint that the run resumes, if it does.
// Throws Error(device) for a device that this machine or build lacks, or that cuda.peer: direct
// cannot join with the others, Error(config) when batch
// sizes, towers and devices do not fit, or tower_threads differs from the kept one.
Placement place_towers(const RunConfig& config, const std::vector<RankPlace>& ranks, int rank,
                       std::optional<int> kept_tower_threads = {});

// What stays the same on other devices, and what this number of devices costs.
std::string guarantee(const Placement& placement);

std::string core_ranges(const std::vector<int>& cores);     // "0-2,5"
std::string describe_cores(const std::vector<int>& cores);  // "4 cores: 0-2,5"

}  // namespace spire::inline training

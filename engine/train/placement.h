// Placement of a run's towers on hardware: the devices of all ranks, this rank's lanes and their
// cores, and the towers of each. Results do not depend on it.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/collective/bucket_reducer.h"
#include "engine/collective/tree.h"
#include "engine/device/lane_team.h"
#include "engine/device/topology.h"
#include "engine/train/rank_hardware.h"
#include "engine/update/strategy.h"

namespace spire::inline training {

// Devices of one process that read each other's memory (group_peers()); other members' data comes
// in messages (engine/collective/exchange.h).
struct Member {
  int rank = 0;       // its process
  Share devices;      // of the run, neighbours in tower order
  TowerRange towers;  // of all its devices
  int front = 0;      // device of the run that sends and receives for it, and is updated first
};

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
  // This rank's lanes, in tower order; a device's are neighbours. Until pin_lanes() a CPU's may run
  // on all cores of the rank's share, a GPU's on those near it.
  std::vector<LaneSpec> lanes;
  std::vector<std::vector<int>> lane_cores;  // where pin_lanes() pins each: a core a thread
  std::vector<TowerRange> lane_towers;
  std::vector<int> lane_device;  // index into devices
  int towers = 1, tower_threads = 1;
  int64_t batch_size = 1;        // samples a tower a step
  int parameter_device = 0;      // index into devices, of rank 0: the host reads the weights there
  bool updates_on_host = false;  // parameter_device: cpu of GPUs: these lanes of rank 0 update
  std::vector<LaneSpec> host_lanes;
  std::vector<int> helper_cores;  // for other threads (readers, writers, exchange); near its GPUs
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
// Throws as choose_devices() does, and Error(config) where batch sizes, towers, devices and
// tower_threads do not fit.
Placement place_towers(const RunConfig& config, const std::vector<RankHardware>& ranks, int rank,
                       std::optional<int> kept_tower_threads = {});

// Pins a CPU's lanes to Placement::lane_cores, by RunConfig::pin: `auto` does where the cores were
// given to this process and no other run has locked them. `locks` locks them in the namespace
// `space`. Returns the decision: "not pinned: another Spire process has core 3".
std::string pin_lanes(RunConfig::Pin asked, const RankHardware& hardware, Placement& placement,
                      CoreLocks& locks, std::string_view space = "spire");

// States on which other devices the run gives the same bits, and whether towers divide evenly.
std::string guarantee(const Placement& placement);

// Describes a process's use of cores: "4 of 16 (OMP_NUM_THREADS=4)".
std::string describe_use(const Placement& placement, const RankHardware& hardware);
// Joins the ranks' descriptions: one line where they are equal, else a line a rank.
std::string describe_ranks(const std::vector<std::string>& texts);
std::string core_ranges(const std::vector<int>& cores);     // "0-2,5"
std::string describe_cores(const std::vector<int>& cores);  // "4 cores: 0-2,5"

}  // namespace spire::inline training

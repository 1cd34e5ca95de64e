// Placement of a run's towers (shares of the global batch) on the devices of all ranks, and
// on this rank's lanes (threads) and their cores. Results depend on it only with reduction: native.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>

#include "engine/device/lane_team.h"
#include "engine/device/topology.h"
#include "engine/train/placement/rank_hardware.h"
#include "engine/update/ownership.h"
#include "engine/update/tree.h"

namespace spire {

// A member: a GPU with all its logical devices, or the CPU devices of a process. Members get each
// other's data in messages (engine/update/exchange.h).
struct Member {
  int rank = 0;       // the process
  Share devices;      // a contiguous range of Placement::devices
  TowerRange towers;  // the towers of all these devices
  PeerRange peers;    // members whose memory it reads, itself included
  int front = 0;      // index of the device that sends and receives for all, and is updated first
};

struct PlacedDevice {
  DeviceId id;
  int rank = 0;
  std::string description;  // "2 cores: 0-1", "1 core of 0-1"
  TowerRange towers;
  int member = 0;                 // index into Placement::members
  int first_lane = 0, lanes = 0;  // a range of its rank's lanes
  std::string memory_limit = {};  // of its own (config/devices.h); empty: memory.limit counts
};

struct Placement {
  // All ranks' devices and members, in tower order; the devices of a member are adjacent.
  std::vector<PlacedDevice> devices;
  std::vector<Member> members;
  int rank = 0, ranks = 1;  // this process, and the number of processes
  // This rank's lanes, in tower order; the lanes of a device are adjacent. Until pin_lanes() the
  // lanes of a CPU may run on all cores of the rank's share, that of a GPU on cores near the GPU.
  std::vector<LaneSpec> lanes;
  std::vector<std::vector<int>> lane_cores;  // where pin_lanes() pins each: one core per thread
  std::vector<TowerRange> lane_towers;
  std::vector<int> lane_device;  // per lane, an index into `devices`
  int towers = 1, tower_threads = 1;
  int64_t batch_size = 1;        // samples per tower per step
  int64_t global_batch = 1;      // of all towers; the last tower may have fewer than batch_size
  int parameter_device = 0;      // index into `devices`; on rank 0, whose host reads its weights
  bool updates_on_host = false;  // parameter_device: cpu, though the run is on GPUs
  std::vector<LaneSpec> host_lanes;  // CPU lanes of rank 0 that update then; else empty
  // For other threads (readers, writers, exchange): the rank's cores; with GPUs the cores near
  // them.
  std::vector<int> helper_cores;
  Strategy strategy = Strategy::parameter_device;
  Reduction reduction = Reduction::invariant;
  bool rounds_to_bf16 = false;  // each tower's, to bf16
  int spare = 0;                // number of GPUs that are left out, as there are more than towers
  bool fell_back = false;       // CPUs stand in for missing GPUs (on_missing: cpu)
  std::string note;             // what `auto` chose and why; empty if the config names all devices
  std::string exchange;         // how GPUs exchange data, and why; empty for CPUs

  // Whether all members read each other's memory, or there is only one: none waits for messages.
  bool all_are_peers() const { return members[0].peers.size() == std::ssize(members); }
  Share devices_of(int rank) const;  // a range of `devices`
  TowerRange towers_of(int rank) const;
  const Member& member_of(int device) const {
    return members[static_cast<size_t>(devices[static_cast<size_t>(device)].member)];
  }
};

// Chooses devices; divides towers among devices and cores among lanes. ranks: from share_out(), the
// same on each rank. kept_tower_threads: of the checkpoint that the run resumes. Throws as
// choose_devices(), and Error(config) if batch sizes, towers, devices and tower_threads do not fit.
Placement place_towers(const RunConfig& config, const std::vector<RankHardware>& ranks, int rank,
                       std::optional<int> kept_tower_threads = {});

// Pins lanes to Placement::lane_cores if `asked` says so; `auto` pins a CPU's lanes if this process
// may use only a part of the machine's cores and no other run has locked these. `locks` locks them
// under names that begin with `space`. Returns the decision in words: "not pinned: ...".
std::string pin_lanes(RunConfig::Pin asked, const RankHardware& hardware, Placement& placement,
                      CoreLocks& locks, std::string_view space = "spire");

// Says on which other devices the run gives the same bits, and whether towers divide evenly.
std::string guarantee(const Placement& placement);
std::string exact_guarantee(const Placement& placement);  // with precision: exact

// Describes a process's use of cores: "4 of 16 (OMP_NUM_THREADS=4)".
std::string describe_use(const Placement& placement, const RankHardware& hardware);
// Joins the descriptions of all ranks: one line if they are equal, else one line per rank.
std::string describe_ranks(const std::vector<std::string>& texts);
std::string describe_cores(const std::vector<int>& cores);  // "4 cores: 0-2,5"

// Says where towers are gradient accumulation, as a device runs several one after another:
// "4 towers on 2 devices: each device runs 2 towers one after another, which is gradient
// accumulation over 2"; empty where all towers run at once.
std::string accumulation_text(const Placement& placement);

}  // namespace spire

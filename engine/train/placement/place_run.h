// One path from the config to devices, for every command; and the ranks (processes) of a run, seen
// from one of them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/device/topology.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/train/placement/idle_gpus.h"
#include "engine/train/placement/placement.h"

namespace spire {

// Without a World this process is the only rank.
class RankGroup {
 public:
  // Both may be null, and outlive this. status: row 0 reports the phase `waiting` during exchanges.
  RankGroup(World* world, ThreadStatus* status) : world_(world), status_(status) {}

  int rank() const { return world_ ? world_->rank() : 0; }
  bool is_first() const { return rank() == 0; }
  bool is_first_here() const;  // whether it is the first of the ranks on this host
  ProcessGroup* group() const { return world_ ? world_->group.get() : nullptr; }
  std::string host_of(int rank) const;  // empty without a World
  int processes_here() const;           // of the run on this rank's host
  const World* world() const { return world_; }

  // Collective: all ranks call them in the same order. Throw PeerLost. REQUIRES: there is a World.
  std::vector<std::string> all_gather(const std::string& text) const;  // one per rank
  std::string broadcast(const std::string& text) const;                // rank 0's

 private:
  void wait(const std::function<void()>& exchange) const;

  World* world_;
  ThreadStatus* status_;
};

struct RunPlacement {
  Placement placement;
  std::vector<RankHardware> places;   // all ranks' cores and GPUs, shared out
  RankHardware own;                   // this process's entry of `places`
  std::string cores;                  // the use of cores in words, for the start report
  std::vector<std::string> warnings;  // of all ranks, about their GPUs
  // Replaces config.precision if the devices do not compute in it; a warning says why.
  std::optional<RunConfig::Precision> precision = {};
};

// Chooses the devices of runs, evaluations and predictions; collective. Takes idle GPUs if
// `devices` is auto:N, and the least loaded ones if there are more GPUs than towers; places the
// towers on all ranks' devices, and claims this rank's GPUs. Warns of GPUs that others use, too.
// kept_threads: tower_threads of a resumed checkpoint. Throws as place_towers() does, Error(device)
// if a device lacks the precision or too few GPUs are idle, and Error(interrupted) if the wait for
// them was given up.
RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads, const GpuQueue& queue);

// Pins the lanes to their cores if `pin` asks for it; collective. `locks` keeps the cores locked
// until it is destroyed. Appends the decision to `cores`, a text about the use of cores.
void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks);

}  // namespace spire

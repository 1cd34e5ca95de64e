// Ranks of a run, and the placement of its towers on their devices and cores.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/device/topology.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/train/placement.h"

namespace spire::inline run {

// This process among the ranks of a run. Without a World it is a group of one.
class RankGroup {
 public:
  // Both may be null, and outlive this. status: its row 0 is in phase waiting during an exchange.
  RankGroup(World* world, ThreadStatus* status) : world_(world), status_(status) {}

  int rank() const { return world_ ? world_->rank() : 0; }
  bool is_first() const { return rank() == 0; }
  ProcessGroup* group() const { return world_ ? world_->group.get() : nullptr; }
  std::string host_of(int rank) const;  // empty without a World
  const World* world() const { return world_; }

  // Collective, on all ranks in the same order. Both throw PeerLost. Not for a group of one.
  std::vector<std::string> all_gather(const std::string& text) const;  // by rank
  std::string broadcast(const std::string& text) const;                // rank 0's

 private:
  void wait(const std::function<void()>& exchange) const;

  World* world_;
  ThreadStatus* status_;
};

struct RunPlacement {
  Placement placement;
  RankHardware own;   // this process's cores and GPUs
  std::string cores;  // the use of cores in words, for the start report
};

// Places the towers on all ranks' devices; collective. kept_threads: tower_threads of a resumed
// checkpoint. Throws as place_towers() does, and where a device lacks the precision.
RunPlacement place_run(const RunConfig& config, const RankGroup& ranks,
                       std::optional<int> kept_threads);

// Pins the lanes to their cores where `pin` asks for it, until `locks` is destroyed; all ranks
// together. Adds the result to `cores`, the use of cores in words.
void pin_run(RunConfig::Pin pin, const RankGroup& ranks, const RankHardware& own,
             Placement& placement, std::string& cores, CoreLocks& locks);

}  // namespace spire::inline run

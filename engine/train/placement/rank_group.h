// The ranks (processes) of a run, seen from one of them.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire {

// Without a World this process is the only rank.
class RankGroup {
 public:
  // Both may be null, and outlive this. status: row 0 reports the phase `waiting` during exchanges.
  RankGroup(World* world, ThreadStatus* status) : world_(world), status_(status) {}

  int rank() const { return world_ ? world_->rank() : 0; }
  bool is_first() const { return rank() == 0; }
  bool is_first_here() const;  // of the ranks on this host
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

}  // namespace spire

// This process among the ranks of a run, for the collective steps of a run's setup. Without a
// World it is a group of one, which exchanges nothing.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire::inline run {

class RankGroup {
 public:
  // Both may be null, and outlive this. status: its row 0 is in phase waiting during an exchange.
  RankGroup(World* world, ThreadStatus* status) : world_(world), status_(status) {}

  int rank() const { return world_ ? world_->rank() : 0; }
  bool is_first() const { return rank() == 0; }
  ProcessGroup* group() const { return world_ ? world_->group.get() : nullptr; }
  // The host of a rank; empty without a World.
  std::string host_of(int rank) const;
  const World* world() const { return world_; }

  // Collective, on all ranks in the same order. Both throw PeerLost. Not for a group of one.
  std::vector<std::string> all_gather(const std::string& text) const;  // by rank
  std::string broadcast(const std::string& text) const;                // rank 0's

 private:
  void wait(const std::function<void()>& exchange) const;

  World* world_;
  ThreadStatus* status_;
};

}  // namespace spire::inline run

// Connected processes of a run: a group for messages, and a watchdog that detects failures.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/export.h>
#include <spire/failure.h>
#include <spire/launch.h>
#include <spire/rank_info.h>

namespace spire {

class ProcessGroup;
class Watchdog;

struct JoinOptions {
  double start_seconds = 300;   // longest wait for the other ranks
  std::vector<int> cores = {};  // RankInfo::cores, with the watchdog's thread; empty: the caller's
  // Called on the watchdog's thread if this process hangs after a failure, so that it should exit.
  std::function<void(const Failure&)> on_exit_timeout = {};
};

struct SPIRE_API World {
  World();
  ~World();

  Launch launch;
  std::vector<RankInfo> ranks;  // one entry per rank
  std::unique_ptr<ProcessGroup> group;
  std::unique_ptr<Watchdog> watchdog;  // destroyed before the group, which it may interrupt

  int rank() const { return launch.rank; }
  int size() const { return launch.size; }
};

// Blocks until all ranks have joined. Throws Error(collective) with the ranks that did not join
// within start_seconds, Error(config) if two processes have the same rank or different numbers of
// ranks or if MPI and the launcher disagree, Error(device) if the launcher wants MPI and this build
// has none.
SPIRE_API std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& options);

// Makes one world per rank; the ranks are threads of this process. For tests and for embedding.
SPIRE_API std::vector<std::unique_ptr<World>> threads_world(int size,
                                                            const JoinOptions& options = {});

}  // namespace spire

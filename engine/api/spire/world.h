// The joined processes of a run: a group for messages and a watchdog for failures.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/failure.h>
#include <spire/launch.h>
#include <spire/rank_info.h>

namespace spire {

inline namespace process {
class ProcessGroup;
class Watchdog;
}  // namespace process

struct JoinOptions {
  double start_seconds = 300;  // to wait for the other ranks
  std::vector<int> cores;      // RankInfo::cores, and those of the watchdog's thread
  std::function<void(const Failure&)> on_exit_timeout;  // Watchdog::Options::on_exit_timeout
};

struct World {
  World();
  ~World();

  Launch launch;
  std::vector<RankInfo> ranks;
  std::unique_ptr<ProcessGroup> group;
  std::unique_ptr<Watchdog> watchdog;  // destroyed before the group, which it may interrupt

  int rank() const { return launch.rank; }
  int size() const { return launch.size; }
};

// Blocks until all ranks have joined. Throws Error(collective) with the ranks that did not join
// within start_seconds, Error(config) if two processes have one rank or count the ranks
// differently, and as mpi_group().
std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& options);

// Makes worlds whose ranks are threads of this process, by rank: for tests, and for programs that
// embed several ranks.
std::vector<std::unique_ptr<World>> threads_world(int size, const JoinOptions& options = {});

}  // namespace spire

// The processes of a run, joined: messages for the data, a watch over failures.
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
  double start_seconds = 300;  // how long to wait for the other ranks
  std::vector<int> cores;      // RankInfo::cores; the watch's thread runs on them, too
  std::function<void(const Failure&)> on_hang;  // Watchdog::Options::on_hang
};

struct World {
  World();
  ~World();

  Launch launch;
  std::vector<RankInfo> ranks;
  std::unique_ptr<ProcessGroup> group;
  std::unique_ptr<Watchdog> watch;  // before group in destruction: it may interrupt it

  int rank() const { return launch.rank; }
  int size() const { return launch.size; }
};

// Blocks until all ranks are there. Throws Error(collective) naming the ranks that did not come
// within start_seconds, Error(config) when two processes claim one rank or count the ranks
// differently, and what mpi_group() throws.
std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& options);

// Worlds whose ranks are threads of this process, by rank: for tests, and for programs that embed
// several ranks.
std::vector<std::unique_ptr<World>> threads_world(int size, const JoinOptions& options = {});

}  // namespace spire

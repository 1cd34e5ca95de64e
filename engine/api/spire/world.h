// The processes of a run, joined: messages for the data, a watch over failures.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <spire/launch.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {

// What each rank tells the others at the start.
struct RankInfo {
  int rank = 0;
  std::string host;
  int pid = 0;
  std::vector<int> cores;  // it may run on; ranks of one host with equal cores share them out
};
std::string to_string(const RankInfo& info);  // "rank 2 (host b, pid 77)"

struct JoinOptions {
  double start_seconds = 300;  // how long to wait for the other ranks
  std::vector<int> cores;      // RankInfo::cores; the watch's thread runs on them, too
  std::function<void(const Failure&)> on_hang;  // Watchdog::Options::on_hang
};

struct World {
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

// One rank's world from its parts: its place, all ranks, its messages, its links of the star.
std::unique_ptr<World> assemble_world(const Launch& launch, std::vector<RankInfo> ranks,
                                      std::unique_ptr<ProcessGroup> group,
                                      std::vector<ControlLink> links, const JoinOptions& options);

}  // namespace spire

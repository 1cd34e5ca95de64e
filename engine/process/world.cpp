#include <unistd.h>

#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/thread.h"
#include "engine/process/rendezvous/handshake.h"
#include "engine/process/rendezvous/rendezvous.h"
#include "engine/process/socket.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {

World::World() = default;
World::~World() = default;

namespace {

// Assembles a rank's World: its launch, all ranks, its messages and its control links.
std::unique_ptr<World> assemble_world(const Launch& launch, std::vector<RankInfo> ranks,
                                      std::unique_ptr<ProcessGroup> group,
                                      std::vector<ControlLink> links, const JoinOptions& options) {
  auto world = std::make_unique<World>();
  world->launch = launch;
  world->ranks = std::move(ranks);
  world->group = std::move(group);
  Watchdog::Options watchdog;
  watchdog.rank = launch.rank;
  watchdog.self = to_string(world->ranks.at(static_cast<size_t>(launch.rank)));
  // A failure ends the exchanges in which threads of this process wait.
  watchdog.release = [messages = world->group.get()] { messages->interrupt(); };
  watchdog.on_exit_timeout = options.on_exit_timeout;
  watchdog.cores = options.cores;
  world->watchdog = std::make_unique<Watchdog>(std::move(watchdog), std::move(links));
  return world;
}

// Joins by MPI. The watchdog still has its own TCP connections.
std::unique_ptr<World> join_over_mpi(const Launch& launch, const RankInfo& self,
                                     const JoinOptions& options) {
  auto group = mpi_group(launch);
  try {
    auto joined = join_over_group(*group, self, options.start_seconds);
    return assemble_world(launch, std::move(joined.ranks), std::move(group),
                          std::move(joined.links), options);
  } catch (...) {
    // Its destructor must not wait for ranks that may have failed, too. Null if it was moved from.
    if (group) group->interrupt();
    throw;
  }
}

// Returns each rank's links of a star around rank 0: links[r] are rank r's.
std::vector<std::vector<ControlLink>> star_of_pairs(const std::vector<RankInfo>& ranks) {
  std::vector<std::vector<ControlLink>> links(ranks.size());
  for (size_t r = 1; r < ranks.size(); ++r) {
    auto [middle, outer] = socket_pair();
    links[0].push_back({ranks[r].rank, to_string(ranks[r]), std::move(middle)});
    links[r].push_back({0, to_string(ranks[0]), std::move(outer)});
  }
  return links;
}

JoinOptions with_cores(JoinOptions options) {
  if (options.cores.empty()) options.cores = allowed_cores();
  return options;
}

}  // namespace

std::string to_string(const RankInfo& info) {
  return fmt::format("rank {} (host {}, pid {})", info.rank, info.host, info.pid);
}

std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& given) {
  JoinOptions options = with_cores(given);
  RankInfo self{launch.rank, host_name(), static_cast<int>(getpid()), options.cores};
  if (launch.size == 1) return assemble_world(launch, {self}, single_process(), {}, options);
  if (launch.mpi) return join_over_mpi(launch, self, options);
  auto joined = join_at_master(launch, self, options.start_seconds);
  auto group = socket_group(launch.rank, std::move(joined.data));
  return assemble_world(launch, std::move(joined.ranks), std::move(group), std::move(joined.links),
                        options);
}

std::vector<std::unique_ptr<World>> threads_world(int size, const JoinOptions& given) {
  JoinOptions options = with_cores(given);
  auto groups = threads_groups(size);
  std::vector<RankInfo> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back({rank, host_name(), static_cast<int>(getpid()), options.cores});
  auto links = star_of_pairs(ranks);

  std::vector<std::unique_ptr<World>> worlds;
  for (int rank = 0; rank < size; ++rank) {
    auto at = static_cast<size_t>(rank);
    Launch launch;
    launch.launcher = "threads";
    launch.rank = launch.local_rank = rank;
    launch.size = launch.local_size = size;
    worlds.push_back(
        assemble_world(launch, ranks, std::move(groups[at]), std::move(links[at]), options));
  }
  return worlds;
}

LocalRanks::LocalRanks(int size) : size_(size) {
  if (size < 1) fail(Category::config, "processes: {}; a run has at least 1", size);
  port_ = std::make_unique<ReservedPort>();
  secret_ = random_secret();
}

LocalRanks::~LocalRanks() = default;
LocalRanks::LocalRanks(LocalRanks&&) noexcept = default;
LocalRanks& LocalRanks::operator=(LocalRanks&&) noexcept = default;

std::vector<std::pair<std::string, std::string>> LocalRanks::variables(int rank) const {
  std::string own = std::to_string(rank), size = std::to_string(size_);
  return {{"RANK", own},
          {"LOCAL_RANK", own},
          {"WORLD_SIZE", size},
          {"LOCAL_WORLD_SIZE", size},
          {"MASTER_ADDR", loopback_address},
          {"MASTER_PORT", std::to_string(port_->number())},
          {"SPIRE_SECRET", secret_}};
}

std::optional<Failure> failure_of(const World& world) {
  return world.watchdog ? world.watchdog->failure() : std::nullopt;
}

}  // namespace spire

#include <unistd.h>

#include <spire/world.h>

#include "engine/process/assemble_world.h"
#include "engine/process/rendezvous/rendezvous.h"

namespace spire {

World::World() = default;
World::~World() = default;

inline namespace process {

std::unique_ptr<World> assemble_world(const Launch& launch, std::vector<RankInfo> ranks,
                                      std::unique_ptr<ProcessGroup> group,
                                      std::vector<ControlLink> links, const JoinOptions& options) {
  auto world = std::make_unique<World>();
  world->launch = launch;
  world->ranks = std::move(ranks);
  world->group = std::move(group);
  Watchdog::Options watch;
  watch.rank = launch.rank;
  watch.self = to_string(world->ranks.at(static_cast<size_t>(launch.rank)));
  watch.release = [messages = world->group.get()] { messages->interrupt(); };
  watch.on_hang = options.on_hang;
  watch.cores = options.cores;
  world->watch = std::make_unique<Watchdog>(std::move(watch), std::move(links));
  return world;
}

}  // namespace process

namespace {

// MPI joins the ranks; the watch has connections of its own besides.
std::unique_ptr<World> join_over_mpi(const Launch& launch, const RankInfo& self,
                                     const JoinOptions& options) {
  auto group = mpi_group(launch);
  try {
    auto meeting = meet_through(*group, self, options.start_seconds);
    return assemble_world(launch, std::move(meeting.ranks), std::move(group),
                          std::move(meeting.links), options);
  } catch (...) {
    if (group) group->interrupt();  // its end must not wait for ranks that may have failed, too
    throw;
  }
}

}  // namespace

std::string to_string(const RankInfo& info) {
  return fmt::format("rank {} (host {}, pid {})", info.rank, info.host, info.pid);
}

std::unique_ptr<World> join_world(const Launch& launch, const JoinOptions& options) {
  RankInfo self{launch.rank, host_name(), static_cast<int>(getpid()), options.cores};
  if (launch.size == 1) return assemble_world(launch, {self}, single_process(), {}, options);
  if (launch.mpi) return join_over_mpi(launch, self, options);
  auto meeting = meet_at_master(launch, self, options.start_seconds);
  auto group = socket_group(launch.rank, std::move(meeting.data));
  return assemble_world(launch, std::move(meeting.ranks), std::move(group),
                        std::move(meeting.links), options);
}

}  // namespace spire

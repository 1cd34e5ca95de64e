#include <unistd.h>

#include "engine/process/assemble_world.h"

namespace spire {
namespace {

// links[r]: rank r's part of a star with rank 0 in the middle.
std::vector<std::vector<ControlLink>> star(const std::vector<RankInfo>& ranks) {
  std::vector<std::vector<ControlLink>> links(ranks.size());
  for (size_t r = 1; r < ranks.size(); ++r) {
    auto [middle, outer] = socket_pair();
    links[0].push_back({ranks[r].rank, to_string(ranks[r]), std::move(middle)});
    links[r].push_back({0, to_string(ranks[0]), std::move(outer)});
  }
  return links;
}

}  // namespace

std::vector<std::unique_ptr<World>> threads_world(int size, const JoinOptions& options) {
  auto groups = threads_groups(size);
  std::vector<RankInfo> ranks;
  for (int rank = 0; rank < size; ++rank)
    ranks.push_back({rank, host_name(), static_cast<int>(getpid()), options.cores});
  auto links = star(ranks);

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

}  // namespace spire

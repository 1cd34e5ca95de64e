#include "engine/train/placement/rank_group.h"

#include <algorithm>

namespace spire {

std::string RankGroup::host_of(int rank) const {
  return world_ ? world_->ranks[static_cast<size_t>(rank)].host : "";
}

bool RankGroup::is_first_here() const {
  if (!world_) return true;
  auto first = std::ranges::find(world_->ranks, host_of(rank()), &RankInfo::host);
  return first == world_->ranks.end() || first->rank == rank();
}

int RankGroup::processes_here() const {
  if (!world_) return 1;
  return static_cast<int>(std::ranges::count(world_->ranks, host_of(rank()), &RankInfo::host));
}

void RankGroup::wait(const std::function<void()>& exchange) const {
  status_ ? status_->wait(0, exchange) : exchange();
}

std::vector<std::string> RankGroup::all_gather(const std::string& text) const {
  std::vector<std::string> all;
  wait([&] { all = spire::all_gather(*group(), text); });
  return all;
}

std::string RankGroup::broadcast(const std::string& text) const {
  std::string received;
  wait([&] { received = spire::broadcast(*group(), text); });
  return received;
}

}  // namespace spire

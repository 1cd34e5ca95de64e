#include "engine/run/rank_group.h"

namespace spire::inline run {

std::string RankGroup::host_of(int rank) const {
  return world_ ? world_->ranks[static_cast<size_t>(rank)].host : "";
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

}  // namespace spire::inline run

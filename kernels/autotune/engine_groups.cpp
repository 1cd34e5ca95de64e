#include "kernels/autotune/engine_groups.h"

namespace spire::inline kernels {

bool EngineGroups::recall(const std::string& name) {
  for (size_t group = 0; group < groups_.size(); ++group) {
    std::string prefix = groups_[group].name + " ";
    if (!name.starts_with(prefix)) continue;
    if (!groups_[group].engines->recall(name.substr(prefix.size()))) continue;
    settled_ = group;
    return true;
  }
  return false;
}

size_t EngineGroups::propose(size_t most) {
  proposed_.clear();
  for (size_t group = 0; group < groups_.size() && proposed_.size() < most; ++group) {
    size_t left = most - proposed_.size(), groups_left = groups_.size() - group;
    size_t share = (left + groups_left - 1) / groups_left;
    size_t count = groups_[group].engines->propose(share);
    for (size_t i = 0; i < count; ++i) proposed_.push_back({group, i});
  }
  return proposed_.size();
}

std::optional<float> EngineGroups::time(size_t index) {
  auto [group, engine] = proposed_.at(index);
  return groups_[group].engines->time(engine);
}

std::string EngineGroups::settle(size_t index) {
  auto [group, engine] = proposed_.at(index);
  settled_ = group;
  return fmt::format("{} {}", groups_[group].name, groups_[group].engines->settle(engine));
}

}  // namespace spire::inline kernels

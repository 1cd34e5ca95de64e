#include "engine/collective/host_all_gather.h"

namespace spire::inline collective {

HostAllGather::HostAllGather(const std::vector<int>& owners, ProcessGroup* group)
    : group_(group && group->size() > 1 ? group : nullptr) {
  if (!group_) return;
  parts_.resize(static_cast<size_t>(group_->size()));
  for (size_t i = 0; i < owners.size(); ++i)
    parts_[static_cast<size_t>(owners[i])].entries.push_back(i);
  for (Part& part : parts_) part.values.resize(part.entries.size());
  Part& own = parts_[static_cast<size_t>(group_->rank())];
  for (int rank = 0; rank < group_->size(); ++rank) {
    if (rank == group_->rank()) continue;
    Part& theirs = parts_[static_cast<size_t>(rank)];
    sends_.push_back({rank, own.values.data(), own.values.size() * sizeof(double)});
    receives_.push_back({rank, theirs.values.data(), theirs.values.size() * sizeof(double)});
  }
}

void HostAllGather::share(std::span<double> table) {
  if (!group_) return;
  Part& own = parts_[static_cast<size_t>(group_->rank())];
  for (size_t i = 0; i < own.entries.size(); ++i) own.values[i] = table[own.entries[i]];
  group_->exchange(sends_, receives_);
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.entries.size(); ++i) table[part.entries[i]] = part.values[i];
  }
}

}  // namespace spire::inline collective

#include <spire/collective/slice_exchange.h>

namespace spire {

SliceExchange::SliceExchange(std::vector<std::vector<FloatRange>> slices, ProcessGroup* group)
    : slices_(std::move(slices)), group_(group && group->size() > 1 ? group : nullptr) {}

// Rank `from` sends `owner`'s slices to rank `to`: the part of it that is this rank's.
void SliceExchange::add(float* buffer, int owner, int from, int to) {
  int self = group_->rank();
  if (from == to || (self != from && self != to)) return;
  for (FloatRange range : slices_[static_cast<size_t>(owner)]) {
    auto bytes = static_cast<size_t>(range.size()) * sizeof(float);
    if (self == from) sends_.push_back({to, buffer + range.begin, bytes});
    if (self == to) receives_.push_back({from, buffer + range.begin, bytes});
  }
}

void SliceExchange::run() {
  group_->exchange(sends_, receives_);
  sends_.clear();
  receives_.clear();
}

void SliceExchange::all_gather(float* buffer) {
  if (!group_) return;
  for (int from = 0; from < group_->size(); ++from) {
    for (int to = 0; to < group_->size(); ++to) add(buffer, from, from, to);
  }
  run();
}

void SliceExchange::gather(float* buffer) {
  if (!group_) return;
  for (int from = 1; from < group_->size(); ++from) add(buffer, from, from, 0);
  run();
}

void SliceExchange::broadcast(float* buffer) {
  if (!group_) return;
  for (int to = 1; to < group_->size(); ++to) add(buffer, to, 0, to);
  run();
  for (int from = 0; from < group_->size(); ++from) {
    for (int to = 1; to < group_->size(); ++to) add(buffer, from, from, to);
  }
  run();
}

}  // namespace spire

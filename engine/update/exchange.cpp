#include "engine/update/exchange.h"

#include <utility>

#include <spire/error.h>

namespace spire {
namespace {

// A CPU's communicator. Its stream has nothing left to do when a call returns, so the group's
// messages are in stream order by themselves.
class HostExchange final : public Communicator {
 public:
  explicit HostExchange(ProcessGroup& group) : group_(group) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream&) override {
    group_.exchange(sends, receives);
  }
  void all_reduce(float* values, int64_t count, Stream&) override {
    group_.all_reduce(values, count);
  }
  void prepare(void*, size_t) override {}
  void forget(void*) noexcept override {}
  void check() override {}
  void abort() noexcept override {}

 private:
  ProcessGroup& group_;
};

}  // namespace

DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      int size) {
  if (ends[0].device.kind == DeviceKind::cuda) return make_nccl_exchanges(group, ends, size);
  // On CPUs ranks of the group and of members are the same numbers.
  require(ends.size() == 1 && group && group->rank() == ends[0].rank && group->size() == size,
          "{} members on the CPUs of a process", ends.size());
  DeviceExchanges exchanges;
  exchanges.push_back(std::make_unique<HostExchange>(*group));
  return exchanges;
}

std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device) {
  ExchangeEnd end{group.rank(), device};
  return std::move(make_device_exchanges(&group, {&end, 1}, group.size()).front());
}

ShardExchange::ShardExchange(std::vector<std::vector<FloatRange>> shards, Communicator* exchange,
                             size_t element_bytes)
    : shards_(std::move(shards)),
      exchange_(exchange && exchange->size() > 1 ? exchange : nullptr),
      element_bytes_(element_bytes) {}

// Adds this rank's part of a transfer: rank `from` sends the shards of `owner` to rank `to`.
void ShardExchange::add(void* buffer, int owner, int from, int to, FloatRange window) {
  int self = exchange_->rank();
  if (from == to || (self != from && self != to)) return;
  for (FloatRange shard : shards_[static_cast<size_t>(owner)]) {
    FloatRange range = common(shard, window);
    if (range.size() <= 0) continue;
    auto bytes = static_cast<size_t>(range.size()) * element_bytes_;
    auto* data = static_cast<std::byte*>(buffer) +
                 static_cast<size_t>(range.begin - window.begin) * element_bytes_;
    if (self == from) sends_.push_back({to, data, bytes});
    if (self == to) receives_.push_back({from, data, bytes});
  }
}

void ShardExchange::run(Stream& stream) {
  exchange_->exchange(sends_, receives_, stream);
  sends_.clear();
  receives_.clear();
}

void ShardExchange::all_gather(void* buffer, Stream& stream) {
  if (!exchange_) return;
  for (int from = 0; from < exchange_->size(); ++from) {
    for (int to = 0; to < exchange_->size(); ++to) add(buffer, from, from, to);
  }
  run(stream);
}

void ShardExchange::gather(void* buffer, Stream& stream, FloatRange window) {
  if (!exchange_) return;
  for (int from = 1; from < exchange_->size(); ++from) add(buffer, from, from, 0, window);
  run(stream);
}

void ShardExchange::broadcast(void* buffer, Stream& stream, int root, FloatRange window) {
  if (!exchange_) return;
  // Scatter: each rank gets the shards that it owns.
  for (int to = 0; to < exchange_->size(); ++to) add(buffer, to, root, to, window);
  run(stream);
  // All-gather among all but the root, which has everything.
  for (int from = 0; from < exchange_->size(); ++from) {
    for (int to = 0; to < exchange_->size(); ++to) {
      if (to != root) add(buffer, from, from, to, window);
    }
  }
  run(stream);
}

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
  // Packs this rank's entries, exchanges the packed parts, and unpacks them all.
  Part& own = parts_[static_cast<size_t>(group_->rank())];
  for (size_t i = 0; i < own.entries.size(); ++i) own.values[i] = table[own.entries[i]];
  group_->exchange(sends_, receives_);
  for (const Part& part : parts_) {
    for (size_t i = 0; i < part.entries.size(); ++i) table[part.entries[i]] = part.values[i];
  }
}

}  // namespace spire

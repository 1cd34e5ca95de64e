#include "engine/update/exchange.h"

#include <algorithm>
#include <utility>

#include "engine/base/fail.h"

namespace spire {
namespace {

// A CPU's communicator. Its stream has nothing left to do when a call returns, so the group's
// messages are in stream order by themselves.
class HostExchange final : public Communicator {
 public:
  HostExchange(ProcessGroup& group, const std::vector<PeerRange>& peers)
      : Communicator(peers), group_(group) {}

  int rank() const override { return group_.rank(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream&) override {
    group_.exchange(sends, receives);
  }
  void all_reduce(float* values, int64_t count, Stream&) override {
    group_.all_reduce(values, count);
  }
  void check() override {}
  void abort() noexcept override {}

 private:
  ProcessGroup& group_;
};

}  // namespace

DeviceExchanges make_device_exchanges(ProcessGroup* group, std::span<const ExchangeEnd> ends,
                                      const std::vector<PeerRange>& peers) {
  auto size = static_cast<int>(peers.size());
  DeviceExchanges exchanges;
  if (ends[0].device.kind == DeviceKind::cuda) {
    PeerRange own = peers[static_cast<size_t>(ends[0].rank)];
    if (own.size() < size) exchanges = make_nccl_exchanges(group, ends, peers);
    return own.size() == 1 ? std::move(exchanges)
                           : make_peer_exchanges(ends, peers, std::move(exchanges));
  }
  // On CPUs ranks of the group and of members are the same numbers.
  require(ends.size() == 1 && group && group->rank() == ends[0].rank && group->size() == size,
          "{} members on the CPUs of a process", ends.size());
  exchanges.push_back(std::make_unique<HostExchange>(*group, peers));
  return exchanges;
}

std::unique_ptr<Communicator> make_device_exchange(ProcessGroup& group, DeviceId device) {
  ExchangeEnd end{group.rank(), device};
  std::vector<PeerRange> peers;
  for (int rank = 0; rank < group.size(); ++rank) peers.push_back({rank, rank + 1});
  return std::move(make_device_exchanges(&group, {&end, 1}, peers).front());
}

ShardExchange::ShardExchange(std::vector<Shards> shards, Communicator* exchange,
                             size_t element_bytes)
    : shards_(std::move(shards)),
      exchange_(exchange && exchange->size() > 1 ? exchange : nullptr),
      element_bytes_(element_bytes) {
  if (!exchange_) return;
  for (const Shards& of_rank : shards_)
    for (FloatRange shard : of_rank) end_ = std::max(end_, shard.end);
  parts_.assign(shards_.size(), Shards(1));
  for (int rank = 0; rank < exchange_->size(); rank = groups_.back().end)
    groups_.push_back(exchange_->peers(rank));
}

// Adds this rank's part of a transfer from one rank to another.
void ShardExchange::add(void* buffer, const Shards& shards, int from, int to, FloatRange window) {
  int self = exchange_->rank();
  if (from == to || (self != from && self != to)) return;
  for (auto shard = std::ranges::upper_bound(shards, window.begin, {}, &FloatRange::end);
       shard != shards.end() && shard->begin < window.end; ++shard) {
    FloatRange range = common(*shard, window);
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

// Rank r, which has parts[r], sends them to one rank of each other group of peers; then within each
// group those that have parts send them to the rest. The rank `except` has everything.
void ShardExchange::spread(void* buffer, const std::vector<Shards>& parts, int except,
                           FloatRange window, Stream& stream) {
  auto relay = [&](PeerRange group, int rank) {
    int chosen = group.relay(rank);
    return chosen == except ? group.begin + (chosen + 1 - group.begin) % group.size() : chosen;
  };
  auto for_parts =
      [&](const auto& body) {  // body(its rank, a group of peers, which of these has it)
        for (int rank = 0; rank < exchange_->size(); ++rank)
          for (PeerRange group : groups_)
            if (rank != except && relay(group, rank) != except)
              body(rank, group, relay(group, rank));
      };
  if (groups_.size() > 1) {
    for_parts([&](int rank, PeerRange, int to) {
      add(buffer, parts[static_cast<size_t>(rank)], rank, to, window);
    });
    run(stream);
  }
  if (exchange_->peers(exchange_->rank()).size() == 1) return;
  for_parts([&](int rank, PeerRange group, int from) {
    for (int to = group.begin; to < group.end; ++to)
      if (to != except) add(buffer, parts[static_cast<size_t>(rank)], from, to, window);
  });
  run(stream);
}

void ShardExchange::all_gather(void* buffer, Stream& stream, FloatRange window) {
  constexpr int none = -1;
  if (exchange_) spread(buffer, shards_, none, window, stream);
}

void ShardExchange::gather(void* buffer, Stream& stream, int root, FloatRange window) {
  if (!exchange_) return;
  for (int from = 0; from < exchange_->size(); ++from)
    add(buffer, shards_[static_cast<size_t>(from)], from, root, window);
  run(stream);
}

void ShardExchange::broadcast(void* buffer, Stream& stream, int root, FloatRange window) {
  if (!exchange_) return;
  FloatRange all = common({0, end_}, window);
  int others = exchange_->size() - 1;
  for (int rank = 0; rank <= others; ++rank) {
    int number = rank < root ? rank : rank - 1;  // among the others
    FloatRange& part = parts_[static_cast<size_t>(rank)].front();
    part = rank == root ? FloatRange{} : share_of(all, number, number + 1, others);
    add(buffer, parts_[static_cast<size_t>(rank)], root, rank, window);
  }
  run(stream);
  if (others > 1) spread(buffer, parts_, root, window, stream);
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

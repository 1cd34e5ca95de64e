// Tests collectives of members in groups of peers of any sizes. Members are threads that share the
// host's memory in place of GPUs that read each other's; messages go between the groups.
#include <atomic>

#include <gtest/gtest.h>

#include "engine/update/exchange.h"
#include "tests/process/ranks.h"

namespace spire {
namespace {

using Floats = std::vector<float>;

constexpr int64_t total = 13 * TreeSum::chunk + 5;
const std::vector<FloatRange> buckets = {{0, 4 * TreeSum::chunk}, {4 * TreeSum::chunk, total}};

// Members in groups of these sizes, and their communicators.
class Members {
 public:
  explicit Members(const std::vector<int>& sizes) {
    for (int size : sizes) {
      auto first = static_cast<int>(peers_.size());
      peers_.insert(peers_.end(), static_cast<size_t>(size), {first, first + size});
    }
    groups_ = threads_groups(count());
    for (int first = 0; first < count(); first = peers_[static_cast<size_t>(first)].end)
      connect(peers_[static_cast<size_t>(first)]);
  }

  int count() const { return static_cast<int>(peers_.size()); }
  Communicator& at(int member) { return *exchanges_[static_cast<size_t>(member)]; }
  std::vector<std::vector<FloatRange>> shards() const {
    std::vector<std::vector<FloatRange>> all;
    for (int m = 0; m < count(); ++m) all.push_back(shards_of(buckets, {m, m + 1, count()}));
    return all;
  }

 private:
  void connect(PeerRange group) {
    std::vector<ExchangeEnd> ends;
    DeviceExchanges others;
    for (int member = group.begin; member < group.end; ++member) {
      ends.push_back({member, {}});
      others.push_back(std::move(make_device_exchanges(groups_[static_cast<size_t>(member)].get(),
                                                       {&ends.back(), 1}, peers_)
                                     .front()));
    }
    if (group.size() > 1) others = make_peer_exchanges(ends, peers_, std::move(others));
    for (auto& exchange : others) exchanges_.push_back(std::move(exchange));
  }

  std::vector<PeerRange> peers_;
  std::vector<std::unique_ptr<ProcessGroup>> groups_;
  DeviceExchanges exchanges_;
};

const std::vector<std::vector<int>> groupings = {{2},    {5},       {1, 1, 1}, {3, 2},
                                                 {1, 4}, {2, 1, 3}, {2, 2, 2}, {1, 2, 1, 1}};

Floats numbers_of(int member) {
  Floats values(static_cast<size_t>(total));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i) + 1e5f * static_cast<float>(member);
  return values;
}

// The shards of all members, each with its owner's numbers.
Floats gathered(const Members& members) {
  Floats all(static_cast<size_t>(total));
  auto shards = members.shards();
  for (int member = 0; member < members.count(); ++member) {
    Floats own = numbers_of(member);
    for (FloatRange shard : shards[static_cast<size_t>(member)])
      std::copy(own.begin() + shard.begin, own.begin() + shard.end, all.begin() + shard.begin);
  }
  return all;
}

TEST(PeerExchange, AllGatherGivesEveryMemberAllShards) {
  for (const auto& sizes : groupings) {
    Members members(sizes);
    Floats expected = gathered(members);
    run_ranks(members.count(), [&](int member) {
      auto stream = make_stream({});
      ShardExchange shards(members.shards(), &members.at(member));
      for (int round = 0; round < 3; ++round) {
        Floats values = numbers_of(member);
        for (FloatRange bucket : buckets)
          shards.all_gather(values.data() + bucket.begin, *stream, bucket);
        EXPECT_EQ(values, expected) << members.count() << ", member " << member;
      }
    });
  }
}

TEST(PeerExchange, GatherGivesTheRootAllShards) {
  for (const auto& sizes : groupings) {
    Members members(sizes);
    Floats expected = gathered(members);
    run_ranks(members.count(), [&](int member) {
      auto stream = make_stream({});
      ShardExchange shards(members.shards(), &members.at(member));
      for (int root = 0; root < members.count(); ++root) {
        Floats values = numbers_of(member);
        shards.gather(values.data(), *stream, root);
        EXPECT_EQ(values, member == root ? expected : numbers_of(member)) << root;
      }
    });
  }
}

TEST(PeerExchange, BroadcastGivesAllMembersTheRootsNumbers) {
  for (const auto& sizes : groupings) {
    Members members(sizes);
    run_ranks(members.count(), [&](int member) {
      auto stream = make_stream({});
      ShardExchange shards(members.shards(), &members.at(member));
      for (int root = 0; root < members.count(); ++root) {
        Floats values = numbers_of(member);
        shards.broadcast(values.data(), *stream, root);
        EXPECT_EQ(values, numbers_of(root)) << members.count() << ", member " << member;
      }
    });
  }
}

// A member that fails before it meets the others: they do not wait for it for ever.
TEST(PeerExchange, AnAbortReleasesThosePeersWhoWait) {
  Members members({3});
  std::atomic<int> waiting{0};
  run_ranks(3, [&](int member) {
    auto stream = make_stream({});
    if (member == 2) {
      while (waiting < 2) std::this_thread::yield();
      return members.at(2).abort();
    }
    ++waiting;
    EXPECT_THROW(members.at(member).meet(*stream), PeerLost);
    EXPECT_THROW(members.at(member).check(), PeerLost);
    EXPECT_THROW(members.at(member).exchange({}, {}, *stream), PeerLost);
  });
}

}  // namespace
}  // namespace spire

// Tests sums of gradients with threads as lanes and ranks against a tree that is summed by hand.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include <gmock/gmock.h>

#include "engine/device/lane_team.h"
#include "engine/update/bucket_exchange.h"
#include "engine/update/exchange.h"
#include "engine/update/gradient_sums.h"
#include "engine/update/lane_arithmetic.h"
#include "engine/update/ownership.h"
#include "tests/process/ranks.h"
#include "tests/update/tower_values.h"

namespace spire {
namespace {

constexpr int64_t chunk = TreeSum::chunk;

struct Layout {
  int towers, ranks, lanes;  // lanes of each rank, each a device; towers are shared contiguously
  int64_t floats, trained;
  Strategy strategy = Strategy::mirrored;
  Reduction order = Reduction::invariant;
  bool by_chunks = false;  // sums are made chunk by chunk, and stored nowhere
  bool rounds = false;     // values are bf16 numbers
};

struct Reduced {
  Floats sums;
  std::vector<double> squares;
  std::vector<FloatRange> shards;
  size_t sent = 0;  // bytes of the reduce-scatter, the gathers and the squares
};

// Counts what it sends.
class CountingCommunicator : public Communicator {
 public:
  explicit CountingCommunicator(std::unique_ptr<Communicator> real)
      : Communicator(peers_of(*real)), real_(std::move(real)) {}

  int rank() const override { return real_->rank(); }
  void exchange(std::span<const Outgoing> sends, std::span<const Incoming> receives,
                Stream& stream) override {
    for (const Outgoing& message : sends) sent += message.bytes;
    real_->exchange(sends, receives, stream);
  }
  void all_reduce(float* values, int64_t count, Stream& stream) override {
    real_->all_reduce(values, count, stream);
  }
  void check() override { real_->check(); }
  void abort() noexcept override { real_->abort(); }

  size_t sent = 0;

 private:
  static std::vector<PeerRange> peers_of(const Communicator& real) {
    std::vector<PeerRange> peers;
    for (int member = 0; member < real.size(); ++member) peers.push_back(real.peers(member));
    return peers;
  }
  std::unique_ptr<Communicator> real_;
};

Stream& host_stream() {
  static std::unique_ptr<Stream> stream = make_stream({});
  return *stream;
}

MemoryPool& host_memory() {
  static MemoryPool pool{DeviceId{}};
  return pool;
}

Ownership ownership_of(const Layout& layout) {
  int devices = layout.ranks * layout.lanes;
  Ownership who{.strategy = layout.strategy,
                .reduction = layout.order,
                .towers = layout.towers,
                .devices = devices,
                .members = {},
                .buckets = make_buckets(layout.floats, chunk, 3 * chunk),
                .trained = layout.trained,
                .rounds_to_bf16 = layout.rounds};
  for (int rank = 0; rank < layout.ranks; ++rank)
    who.members.push_back({{rank * layout.lanes, (rank + 1) * layout.lanes, devices},
                           towers_of_lane(layout.towers, rank, layout.ranks),
                           {rank, rank + 1}});
  return who;
}

// The sums of a rank's lanes and, with several ranks, their exchange.
struct RankSums {
  RankSums(const Layout& layout, int rank, const std::vector<NodeBuffer>& nodes,
           std::span<double> squares, ThreadStatus& status, ProcessGroup* group)
      : who(ownership_of(layout)),
        sums(who, rank, nodes, std::vector(static_cast<size_t>(layout.lanes), &host_stream()),
             squares, host_memory()) {
    if (layout.ranks == 1) return;
    communicator = std::make_unique<CountingCommunicator>(make_device_exchange(*group, {}));
    BucketExchange::Options options;
    options.thread_row = layout.lanes;
    exchange =
        std::make_unique<BucketExchange>(who, options, sums, *communicator, host_memory(), status);
  }

  const Ownership who;
  GradientSums sums;
  std::unique_ptr<CountingCommunicator> communicator;
  std::unique_ptr<BucketExchange> exchange;  // null: one rank
};

// A lane's step: its towers' gradients in parts, in the order in which backward completes them.
void run_lane(const Layout& layout, const std::vector<Floats>& values, TowerRange range,
              std::vector<Floats>& buffers, RankSums& sums, int lane) {
  LaneSchedule schedule = lane_schedule(layout.order, layout.towers, range);
  for (int i = 0; i < range.size(); ++i) {
    const TreeStep& step = schedule.steps[static_cast<size_t>(i)];
    bool last = i + 1 == range.size();
    for (int64_t done = 0; done < layout.floats;) {
      int64_t end = std::min(layout.floats, done + 1000);
      const Floats& from = values[static_cast<size_t>(range.begin + i)];
      std::copy(from.begin() + done, from.begin() + end,
                buffers[static_cast<size_t>(step.target)].begin() + done);
      for (TreeAdd add : step.adds) {
        add_floats(buffers[static_cast<size_t>(add.into)].data() + done,
                   buffers[static_cast<size_t>(add.from)].data() + done, end - done);
      }
      done = end;
      if (last && sums.exchange) sums.exchange->gradients_ready(lane, done);
    }
  }
  if (sums.exchange) sums.exchange->finish(lane);
}

// Once all lanes of the only rank have run: each sums its share while the others sum theirs.
void sum_share(const Layout& layout, RankSums& sums, int lane, Floats& by_chunks) {
  FloatRange share = share_of({0, layout.floats}, lane, lane + 1, layout.lanes);
  if (!layout.by_chunks) return sums.sums.sum(lane, share);
  for_chunks(share, [&](FloatRange part) {
    const float* sum = sums.sums.sum_chunk(lane, part);
    std::copy(sum, sum + part.size(), by_chunks.begin() + part.begin);
  });
}

Reduced reduce_rank(const Layout& layout, const std::vector<Floats>& values, int rank,
                    ProcessGroup* group, int steps) {
  TowerRange own = towers_of_lane(layout.towers, rank, layout.ranks);
  std::vector<std::vector<Floats>> buffers(static_cast<size_t>(layout.lanes));
  std::vector<NodeBuffer> nodes;
  std::vector<TowerRange> ranges;
  for (int lane = 0; lane < layout.lanes; ++lane) {
    TowerRange share = towers_of_lane(own.size(), lane, layout.lanes);
    ranges.push_back({own.begin + share.begin, own.begin + share.end});
    LaneSchedule schedule = lane_schedule(layout.order, layout.towers, ranges.back());
    auto& mine = buffers[static_cast<size_t>(lane)];
    mine.assign(static_cast<size_t>(schedule.buffers), Floats(static_cast<size_t>(layout.floats)));
    for (const BufferedNode& node : schedule.nodes)
      nodes.push_back({node.range, mine[static_cast<size_t>(node.buffer)].data()});
  }
  Reduced reduced;
  reduced.sums.resize(static_cast<size_t>(layout.floats));
  reduced.squares.resize(static_cast<size_t>((layout.trained + chunk - 1) / chunk));
  std::vector<std::string> names(static_cast<size_t>(layout.lanes) + 1, "thread");
  ThreadStatus status(names);
  RankSums sums(layout, rank, nodes, reduced.squares, status, group);
  for (int step = 0; step < steps; ++step) {
    if (sums.exchange) sums.exchange->begin_step();
    run_ranks(layout.lanes, [&](int lane) {
      auto l = static_cast<size_t>(lane);
      run_lane(layout, values, ranges[l], buffers[l], sums, lane);
    });
    if (sums.exchange) continue;
    run_ranks(layout.lanes, [&](int lane) { sum_share(layout, sums, lane, reduced.sums); });
  }
  if (!layout.by_chunks) reduced.sums.assign(sums.sums.sums(), sums.sums.sums() + layout.floats);
  if (sums.communicator) reduced.sent = sums.communicator->sent;
  reduced.shards = sums.who.shards_of_members()[static_cast<size_t>(rank)];
  return reduced;
}

std::vector<Reduced> reduce(const Layout& layout, const std::vector<Floats>& values,
                            int steps = 3) {
  auto groups = threads_groups(layout.ranks);
  std::vector<Reduced> reduced(groups.size());
  run_ranks(layout.ranks, [&](int rank) {
    auto r = static_cast<size_t>(rank);
    reduced[r] = reduce_rank(layout, values, rank, groups[r].get(), steps);
  });
  return reduced;
}

void expect_bits(const Floats& got, const Floats& want, FloatRange range, const char* what) {
  auto bytes = static_cast<size_t>(range.size()) * sizeof(float);
  EXPECT_EQ(std::memcmp(got.data() + range.begin, want.data() + range.begin, bytes), 0) << what;
}

TEST(GradientSums, EqualsTheTreeOnAnyLanesAndRanks) {
  int64_t floats = 11 * chunk + 160, trained = 10 * chunk + 48;
  for (int towers : {1, 2, 3, 5, 8}) {
    auto values = values_of_towers(towers, floats);
    Floats tree = tree_of(values, {0, towers});
    for (int ranks : {1, 2, 3}) {
      for (int lanes : {1, 2}) {
        if (ranks * lanes > towers) continue;
        for (const Reduced& r : reduce({towers, ranks, lanes, floats, trained}, values))
          expect_bits(r.sums, tree, {0, floats}, "sums");
      }
    }
  }
}

TEST(GradientSums, ChunksThatAreStoredNowhereEqualTheTree) {
  int64_t floats = 5 * chunk + 160, trained = 4 * chunk + 48;
  for (int towers : {1, 2, 3, 5}) {
    for (int lanes : {1, 2}) {
      if (lanes > towers) continue;
      auto values = values_of_towers(towers, floats);
      Layout layout{towers, 1, lanes, floats, trained};
      layout.by_chunks = true;
      expect_bits(reduce(layout, values)[0].sums, tree_of(values, {0, towers}), {0, floats},
                  "sums");
      Layout stored = layout;
      stored.by_chunks = false;
      EXPECT_EQ(reduce(layout, values)[0].squares, reduce(stored, values)[0].squares);
    }
  }
}

// The gradient of a single tower travels in half the bytes; the statistics behind do not.
TEST(BucketExchange, SendsTowersThatAreRoundedInHalfTheBytes) {
  int64_t floats = 11 * chunk + 160, trained = 10 * chunk + 48;
  for (int towers : {2, 3, 4}) {
    auto values = values_of_towers(towers, floats);
    for (Floats& tower : values)
      for (int64_t i = 0; i < trained; ++i) {
        float& value = tower[static_cast<size_t>(i)];
        value = static_cast<float>(bfloat16(value));
      }
    Floats tree = tree_of(values, {0, towers});
    Layout layout{towers, 2, 1, floats, trained, Strategy::sharded};
    auto whole = reduce(layout, values, 1);
    layout.rounds = true;
    auto rounded = reduce(layout, values, 1);
    for (size_t rank : {size_t{0}, size_t{1}}) {
      for (FloatRange shard : rounded[rank].shards)
        expect_bits(rounded[rank].sums, tree, shard, "sums");
      EXPECT_EQ(rounded[rank].squares, whole[rank].squares);
      int64_t halved = 0;  // floats
      for (FloatRange shard : rounded[1 - rank].shards)
        halved += std::clamp<int64_t>(trained - shard.begin, 0, shard.size());
      // A rank with two of three towers sends each alone, one with two of four their sum.
      auto nodes = ownership_of(layout).nodes(static_cast<int>(rank));
      halved *= std::ranges::count(nodes, 1, &TowerRange::size);
      size_t saved = 2 * static_cast<size_t>(halved);
      EXPECT_EQ(rounded[rank].sent, whole[rank].sent - saved);
    }
  }
}

TEST(GradientSums, SumsReachTheMembersOfTheStrategy) {
  int64_t floats = 9 * chunk;
  auto values = values_of_towers(6, floats);
  Floats tree = tree_of(values, {0, 6});
  auto to_zero = reduce({6, 3, 1, floats, floats, Strategy::parameter_device}, values);
  expect_bits(to_zero[0].sums, tree, {0, floats}, "rank 0");
  auto to_shards = reduce({6, 3, 2, floats, floats, Strategy::sharded}, values);
  int64_t covered = 0;
  for (const Reduced& r : to_shards) {
    for (FloatRange shard : r.shards) {
      expect_bits(r.sums, tree, shard, "shard");
      covered += shard.size();
    }
  }
  EXPECT_EQ(covered, floats);
}

TEST(GradientSums, SquaresAreOfTrainedFloatsInFixedChunks) {
  int64_t floats = 6 * chunk, trained = 4 * chunk + 16;
  auto values = values_of_towers(4, floats);
  Floats tree = tree_of(values, {0, 4});
  for (int ranks : {1, 2}) {
    auto reduced = reduce({4, ranks, 1, floats, trained}, values);
    for (int64_t c = 0; c < 5; ++c) {
      double want = sum_of_squares(tree.data() + c * chunk, std::min(chunk, trained - c * chunk));
      double got = 0;  // only the rank that owns the shard has it
      for (const Reduced& r : reduced) got = std::max(got, r.squares[static_cast<size_t>(c)]);
      EXPECT_EQ(got, want) << ranks << " ranks, chunk " << c;
    }
  }
}

TEST(GradientSums, NativeIsNearTheTreeAndEqualOnAllRanks) {
  int64_t floats = 5 * chunk;
  auto values = values_of_towers(12, floats);
  Floats tree = tree_of(values, {0, 12});
  Layout layout{12, 3, 1, floats, floats};
  layout.order = Reduction::native;
  auto reduced = reduce(layout, values);
  for (const Reduced& r : reduced) expect_bits(r.sums, reduced[0].sums, {0, floats}, "ranks");
  int different = 0;
  for (size_t i = 0; i < tree.size(); ++i) {
    double magnitude = 0;
    for (auto& tower : values) magnitude += std::abs(double{tower[i]});
    ASSERT_NEAR(reduced[0].sums[i], tree[i], 12 * magnitude * std::exp2(-24));
    different += reduced[0].sums[i] != tree[i];
  }
  EXPECT_GT(different,
            100);  // another order gives other bits: the tests of equality prove something
}

// One lane a rank, one tower a lane: the smallest that reduces.
struct Pair {
  Floats gradients;
  std::vector<double> squares;
  ThreadStatus status{{"lane", "exchange"}};
  std::mutex mutex;
  std::condition_variable changed;
  int exchanged = 0;  // buckets, so far

  explicit Pair(int64_t floats)
      : gradients(static_cast<size_t>(floats), 1.0f), squares(static_cast<size_t>(floats / chunk)) {
    status.set_hook([this](const PhaseRow& row) {
      if (row.thread != "exchange" || row.phase != Phase::idle) return;
      std::lock_guard lock(mutex);
      ++exchanged;
      changed.notify_all();
    });
  }
  bool wait_for_exchange(int buckets) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), [&] { return exchanged >= buckets; });
  }
};

// A bucket reaches the other rank while this one's later gradients are still to come.
TEST(BucketExchange, RanksExchangeABucketBeforeBackwardIsDone) {
  int64_t floats = 8 * chunk;
  auto groups = threads_groups(2);
  run_ranks(2, [&](int rank) {
    Pair pair(floats);
    RankSums sums({2, 2, 1, floats, floats}, rank, {{{rank, rank + 1}, pair.gradients.data()}},
                  pair.squares, pair.status, groups[static_cast<size_t>(rank)].get());
    FloatRange first = sums.who.buckets[0];
    sums.exchange->begin_step();
    sums.exchange->gradients_ready(0, first.end);
    ASSERT_TRUE(pair.wait_for_exchange(1));
    expect_bits(pair.gradients, Floats(static_cast<size_t>(floats), 2.0f), first,
                "the first bucket");
    sums.exchange->gradients_ready(0, floats);
    sums.exchange->finish(0);
    EXPECT_EQ(pair.gradients, Floats(static_cast<size_t>(floats), 2.0f));
  });
}

// Two ranks of `lanes` lanes; the tests use the first, whose towers are [0, lanes).
struct Lanes {
  explicit Lanes(int lanes, int64_t floats)
      : buffers(static_cast<size_t>(lanes), Floats(static_cast<size_t>(floats), 1.0f)),
        squares(static_cast<size_t>(floats / chunk)),
        status(std::vector<std::string>(static_cast<size_t>(lanes) + 1, "thread")),
        sums({2 * lanes, 2, lanes, floats, floats}, 0, nodes(), squares, status, groups[0].get()) {}

  std::vector<NodeBuffer> nodes() {
    std::vector<NodeBuffer> nodes;
    for (int lane = 0; lane < std::ssize(buffers); ++lane)
      nodes.push_back({{lane, lane + 1}, buffers[static_cast<size_t>(lane)].data()});
    return nodes;
  }

  std::vector<std::unique_ptr<ProcessGroup>> groups = threads_groups(2);
  std::vector<Floats> buffers;
  std::vector<double> squares;
  ThreadStatus status;
  RankSums sums;
  BucketExchange& exchange = *sums.exchange;
};

// Inside a process no lane waits: at the end of a bucket each adds up the buckets that are ready.
TEST(BucketExchange, LanesAddUpTheirSharesAtTheEndsOfBuckets) {
  Lanes lanes(2, 16 * chunk);
  const Floats& one = lanes.buffers[0];
  FloatRange bucket = lanes.sums.who.buckets.at(1);
  auto first = static_cast<size_t>(bucket.begin), last = static_cast<size_t>(bucket.end - 1);
  lanes.exchange.begin_step();
  lanes.exchange.gradients_ready(0, bucket.end);  // ahead of lane 1: nothing is ready
  EXPECT_EQ(one[last], 1.0f);
  lanes.exchange.gradients_ready(1, bucket.end);  // lane 1's share
  EXPECT_EQ(one[last], 2.0f);
  EXPECT_EQ(one[first], 1.0f);  // lane 0's share
  lanes.exchange.gradients_ready(0, lanes.sums.who.floats());
  EXPECT_EQ(one[first], 2.0f);
  lanes.groups[0]->interrupt();  // its exchange thread waits for the other rank
}

TEST(BucketExchange, ALaneThatFailsReleasesTheOthers) {
  Lanes lanes(2, chunk);
  lanes.exchange.begin_step();
  run_ranks(2, [&](int lane) {
    if (lane == 1) return lanes.exchange.abort_waits();
    auto rest_of_step = [&] {
      lanes.exchange.gradients_ready(0, chunk);  // throws when the other lane was quicker
      lanes.exchange.finish(0);
    };
    EXPECT_THROW(rest_of_step(), BarrierBroken);
  });
  EXPECT_THROW(lanes.exchange.begin_step(), Error);
}

TEST(BucketExchange, SeveralLanesThatFailReleaseTheOthersToo) {
  Lanes lanes(8, chunk);
  lanes.exchange.begin_step();
  for (int lane = 1; lane < 8; ++lane) {
    lanes.exchange.abort_waits();
    EXPECT_THROW(lanes.exchange.finish(0), BarrierBroken) << lane << " broke it up";
  }
}

// Errors of the exchange thread name that thread, not the lanes.
TEST(BucketExchange, ErrorsOfTheExchangeThreadNameIt) {
  auto groups = threads_groups(2);
  Pair pair(chunk);
  pair.status.set_hook([](const PhaseRow& row) {
    if (row.phase == Phase::bucket && row.thread == "exchange") throw std::runtime_error("no net");
  });
  RankSums sums({2, 2, 1, chunk, chunk}, 0, {{{0, 1}, pair.gradients.data()}}, pair.squares,
                pair.status, groups[0].get());
  pair.status.begin_step(7);
  sums.exchange->begin_step();
  sums.exchange->gradients_ready(0, chunk);
  EXPECT_THAT([&] { sums.exchange->finish(0); },
              testing::ThrowsMessage<LaneError>("exchange, bucket 0 of step 7: no net"));
}

TEST(BucketExchange, ALostPeerReleasesTheLanes) {
  auto values = values_of_towers(2, chunk);
  auto groups = threads_groups(2);
  groups[1].reset();  // rank 1 is gone
  EXPECT_THROW(reduce_rank({2, 2, 1, chunk, chunk}, values, 0, groups[0].get(), 1), PeerLost);
}

TEST(HostAllGather, EveryRankKnowsEveryEntry) {
  std::vector<int> owners = {0, 2, 1, 1, 0, 2, 2};
  auto groups = threads_groups(3);
  run_ranks(3, [&](int rank) {
    HostAllGather table(owners, groups[static_cast<size_t>(rank)].get());
    std::vector<double> values(owners.size(), -1);
    for (int round = 0; round < 3; ++round) {
      for (size_t i = 0; i < owners.size(); ++i) {
        if (owners[i] == rank) values[i] = static_cast<double>(i) + 100 * round;
      }
      table.share(values);
      for (size_t i = 0; i < owners.size(); ++i)
        ASSERT_EQ(values[i], static_cast<double>(i) + 100 * round);
    }
  });
}

TEST(ShardExchange, GathersAndBroadcasts) {
  std::vector<std::vector<FloatRange>> shards = {{{0, 3}, {10, 12}}, {{3, 7}}, {{7, 10}}};
  auto groups = threads_groups(3);
  run_ranks(3, [&](int rank) {
    auto r = static_cast<size_t>(rank);
    auto exchange_of_rank = make_device_exchange(*groups[r], {});
    ShardExchange exchange(shards, exchange_of_rank.get());
    auto owned = [&](float value) {
      Floats buffer(12, -1);
      for (FloatRange s : shards[r])
        std::fill(buffer.begin() + s.begin, buffer.begin() + s.end, value);
      return buffer;
    };
    Floats all = {0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 0, 0};
    Floats buffer = owned(static_cast<float>(rank));
    exchange.all_gather(buffer.data(), host_stream());
    EXPECT_EQ(buffer, all);
    buffer = owned(static_cast<float>(rank));
    exchange.gather(buffer.data(), host_stream());
    if (rank == 0) {
      EXPECT_EQ(buffer, all);
    }
    buffer = rank == 0 ? all : Floats(12, -1);
    exchange.broadcast(buffer.data(), host_stream());
    EXPECT_EQ(buffer, all);
  });
}

}  // namespace
}  // namespace spire

// Tests GradientReduction with threads as lanes and ranks against a tree that is summed by hand.
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <semaphore>

#include <gtest/gtest.h>

#include <spire/random_stream.h>

#include "engine/device/lane_team.h"
#include "engine/update/exchange.h"
#include "engine/update/gradient_reduction.h"
#include "engine/update/lane_arithmetic.h"
#include "tests/process/ranks.h"

namespace spire {
namespace {

constexpr int64_t chunk = TreeSum::chunk;

using Floats = std::vector<float>;

// One buffer a tower; sums depend on the order of additions.
std::vector<Floats> tower_gradients(int towers, int64_t floats) {
  RandomStream random(5, Purpose::initialize);
  std::vector<Floats> values(static_cast<size_t>(towers), Floats(static_cast<size_t>(floats)));
  uint64_t i = 0;
  for (auto& tower : values) {
    for (auto& v : tower) {
      float exponent = 16 * random.uniform(i++);
      v = (random.uniform(i++) - 0.5f) * std::exp2(exponent);
    }
  }
  return values;
}

Floats tree_of(const std::vector<Floats>& values, TowerRange node) {
  if (node.size() == 1) return values[static_cast<size_t>(node.begin)];
  int split = tree_split(node);
  Floats left = tree_of(values, {node.begin, split}), right = tree_of(values, {split, node.end});
  for (size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  return left;
}

struct Layout {
  int towers, ranks, lanes;  // lanes of each rank, each a device; towers are shared contiguously
  int64_t floats, trained;
  SumsTo to = SumsTo::everyone;
  Reduction order = Reduction::invariant;
  bool sum_in_update = false;
};

struct Reduced {
  Floats sums;
  std::vector<double> squares;
  std::vector<FloatRange> shards;
};

Stream& host_stream() {
  static std::unique_ptr<Stream> stream = make_stream({});
  return *stream;
}

MemoryPool& host_memory() {
  static MemoryPool pool{DeviceId{}};
  return pool;
}

GradientReduction::Options options_of(const Layout& layout, std::span<double> squares) {
  GradientReduction::Options options;
  options.exchange.order = layout.order;
  options.exchange.towers = layout.towers;
  options.exchange.buckets = make_buckets(layout.floats, chunk, 3 * chunk);
  options.exchange.to = layout.to;
  for (int rank = 0; rank < layout.ranks; ++rank) {
    int all = layout.ranks * layout.lanes;
    options.exchange.ranks.share.push_back({rank * layout.lanes, (rank + 1) * layout.lanes, all});
    options.exchange.ranks.towers.push_back(GradientReduction::member_nodes(
        layout.order, layout.towers, towers_of_lane(layout.towers, rank, layout.ranks)));
  }
  options.memory = &host_memory();
  options.trained = layout.trained;
  options.chunk_squares = squares.data();
  options.streams.assign(static_cast<size_t>(layout.lanes), &host_stream());
  options.thread_row = layout.lanes;
  options.sum_in_update = layout.sum_in_update;
  return options;
}

// A lane's step: its towers' gradients in parts, in the order in which backward completes them.
void run_lane(const Layout& layout, const std::vector<Floats>& values, TowerRange range,
              std::vector<Floats>& buffers, GradientReduction& reduction, int lane) {
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
      if (last) reduction.arrive(lane, done);
    }
  }
  reduction.finish(lane);
}

// Every lane sums its chunks while the others sum theirs.
void sum_chunks(const Layout& layout, GradientReduction& reduction, int lane, Floats& sums) {
  for (int64_t begin = lane * chunk; begin < layout.floats; begin += layout.lanes * chunk) {
    FloatRange part{begin, std::min(layout.floats, begin + chunk)};
    const float* sum = reduction.sum_chunk(lane, part);
    std::copy(sum, sum + part.size(), sums.begin() + begin);
  }
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
  reduced.sums.resize(static_cast<size_t>(layout.sum_in_update ? layout.floats : 0));
  reduced.squares.resize(static_cast<size_t>((layout.trained + chunk - 1) / chunk));
  auto options = options_of(layout, reduced.squares);
  std::vector<std::string> names(static_cast<size_t>(layout.lanes) + 1, "thread");
  ThreadStatus status(names);
  auto exchange = group ? make_device_exchange(*group, {}) : nullptr;
  GradientReduction reduction(options, nodes, exchange.get(), status);
  for (int step = 0; step < steps; ++step) {
    reduction.begin_step();
    run_ranks(layout.lanes, [&](int lane) {
      auto l = static_cast<size_t>(lane);
      run_lane(layout, values, ranges[l], buffers[l], reduction, lane);
      if (layout.sum_in_update) sum_chunks(layout, reduction, lane, reduced.sums);
    });
  }
  if (!layout.sum_in_update)
    reduced.sums.assign(reduction.sums(), reduction.sums() + layout.floats);
  const Share& share = options.exchange.ranks.share[static_cast<size_t>(rank)];
  for (FloatRange bucket : reduction.buckets())
    reduced.shards.push_back(share_of(bucket, share.begin, share.end, share.of));
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

TEST(GradientReduction, EqualsTheTreeOnAnyLanesAndRanks) {
  int64_t floats = 11 * chunk + 160, trained = 10 * chunk + 48;
  for (int towers : {1, 2, 3, 5, 8}) {
    auto values = tower_gradients(towers, floats);
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

TEST(GradientReduction, SumInUpdateGivesTheTreeChunkByChunk) {
  int64_t floats = 5 * chunk + 160, trained = 4 * chunk + 48;
  for (int towers : {1, 2, 3, 5}) {
    for (int lanes : {1, 2}) {
      if (lanes > towers) continue;
      auto values = tower_gradients(towers, floats);
      Layout layout{towers, 1, lanes, floats, trained};
      layout.sum_in_update = true;
      expect_bits(reduce(layout, values)[0].sums, tree_of(values, {0, towers}), {0, floats},
                  "sums");
      Layout stored = layout;
      stored.sum_in_update = false;
      EXPECT_EQ(reduce(layout, values)[0].squares, reduce(stored, values)[0].squares);
    }
  }
}

TEST(GradientReduction, SumsReachTheMembersOfTheStrategy) {
  int64_t floats = 9 * chunk;
  auto values = tower_gradients(6, floats);
  Floats tree = tree_of(values, {0, 6});
  auto to_zero = reduce({6, 3, 1, floats, floats, SumsTo::root}, values);
  expect_bits(to_zero[0].sums, tree, {0, floats}, "rank 0");
  auto to_shards = reduce({6, 3, 2, floats, floats, SumsTo::shard_owners}, values);
  int64_t covered = 0;
  for (const Reduced& r : to_shards) {
    for (FloatRange shard : r.shards) {
      expect_bits(r.sums, tree, shard, "shard");
      covered += shard.size();
    }
  }
  EXPECT_EQ(covered, floats);
}

TEST(GradientReduction, SquaresAreOfTrainedFloatsInFixedChunks) {
  int64_t floats = 6 * chunk, trained = 4 * chunk + 16;
  auto values = tower_gradients(4, floats);
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

TEST(GradientReduction, NativeIsNearTheTreeAndEqualOnAllRanks) {
  int64_t floats = 5 * chunk;
  auto values = tower_gradients(12, floats);
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
TEST(GradientReduction, RanksExchangeABucketBeforeBackwardIsDone) {
  int64_t floats = 8 * chunk;
  auto groups = threads_groups(2);
  run_ranks(2, [&](int rank) {
    Pair pair(floats);
    auto exchange = make_device_exchange(*groups[static_cast<size_t>(rank)], {});
    GradientReduction reduction(options_of({2, 2, 1, floats, floats}, pair.squares),
                                {{{rank, rank + 1}, pair.gradients.data()}}, exchange.get(),
                                pair.status);
    reduction.begin_step();
    reduction.arrive(0, reduction.buckets()[0].end);
    ASSERT_TRUE(pair.wait_for_exchange(1));
    expect_bits(pair.gradients, Floats(static_cast<size_t>(floats), 2.0f), reduction.buckets()[0],
                "the first bucket");
    reduction.arrive(0, floats);
    reduction.finish(0);
    EXPECT_EQ(pair.gradients, Floats(static_cast<size_t>(floats), 2.0f));
  });
}

// Inside a process no lane waits: at the end of a bucket each adds up the buckets that are ready.
TEST(GradientReduction, LanesAddUpTheirSharesAtTheEndsOfBuckets) {
  int64_t floats = 8 * chunk;
  Floats one(static_cast<size_t>(floats), 1.0f), two(static_cast<size_t>(floats), 2.0f);
  std::vector<double> squares(8);
  ThreadStatus status({"a", "b", "exchange"});
  GradientReduction reduction(options_of({2, 1, 2, floats, floats}, squares),
                              {{{0, 1}, one.data()}, {{1, 2}, two.data()}}, nullptr, status);
  ASSERT_GE(reduction.buckets().size(), 3u);
  auto sum_of = [&](size_t bucket) {
    return one[static_cast<size_t>(reduction.buckets()[bucket].end - 1)];
  };
  reduction.begin_step();
  reduction.arrive(0, reduction.buckets()[1].end);  // ahead of lane 1: nothing is ready
  EXPECT_EQ(sum_of(1), 1.0f);
  reduction.arrive(1, reduction.buckets()[1].end);  // lane 1's share of both
  EXPECT_EQ(sum_of(1), 3.0f);
  EXPECT_EQ(one[static_cast<size_t>(reduction.buckets()[1].begin)], 1.0f);  // lane 0's share
  reduction.arrive(0, floats);
  EXPECT_EQ(one[static_cast<size_t>(reduction.buckets()[1].begin)], 3.0f);
  run_ranks(2, [&](int lane) {
    if (lane == 1) reduction.arrive(1, floats);
    reduction.finish(lane);
  });
  EXPECT_EQ(one, Floats(static_cast<size_t>(floats), 3.0f));
}

TEST(GradientReduction, ALaneThatFailsReleasesTheOthers) {
  Floats one(chunk), two(chunk);
  std::vector<double> squares(1);
  Layout layout{2, 1, 2, chunk, chunk};
  ThreadStatus status({"a", "b", "exchange"});
  GradientReduction reduction(options_of(layout, squares),
                              {{{0, 1}, one.data()}, {{1, 2}, two.data()}}, nullptr, status);
  reduction.begin_step();
  run_ranks(2, [&](int lane) {
    if (lane == 1) return reduction.break_up();
    auto rest_of_step = [&] {
      reduction.arrive(0, chunk);  // throws when the other lane was quicker
      reduction.finish(0);
    };
    EXPECT_THROW(rest_of_step(), BarrierBroken);
  });
  EXPECT_THROW(reduction.begin_step(), Error);
}

// Sums that the update makes: the lane waits for the other's towers alone.
TEST(GradientReduction, ALaneThatFailsReleasesThoseThatAwaitItsTowers) {
  Floats one(chunk), two(chunk);
  std::vector<double> squares(1);
  Layout layout{2, 1, 2, chunk, chunk};
  layout.sum_in_update = true;
  ThreadStatus status({"a", "b", "exchange"});
  std::binary_semaphore waits{0};
  status.set_hook([&](const PhaseRow& row) {
    if (row.thread == "a" && row.phase == Phase::waiting) waits.release();
  });
  GradientReduction reduction(options_of(layout, squares),
                              {{{0, 1}, one.data()}, {{1, 2}, two.data()}}, nullptr, status);
  reduction.begin_step();
  run_ranks(2, [&](int lane) {
    if (lane == 1) {
      waits.acquire();
      return reduction.break_up();
    }
    reduction.arrive(0, chunk);
    EXPECT_THROW(reduction.finish(0), BarrierBroken);
  });
  EXPECT_THROW(reduction.arrive(1, chunk), BarrierBroken);  // a third lane would stop its towers
  EXPECT_THROW(reduction.begin_step(), Error);
}

TEST(GradientReduction, SeveralLanesThatFailReleaseTheOthersToo) {
  std::vector<Floats> buffers(8, Floats(chunk));
  std::vector<NodeBuffer> nodes;
  for (int lane = 0; lane < 8; ++lane)
    nodes.push_back({{lane, lane + 1}, buffers[static_cast<size_t>(lane)].data()});
  std::vector<double> squares(1);
  ThreadStatus status(std::vector<std::string>(9, "thread"));
  GradientReduction reduction(options_of({8, 1, 8, chunk, chunk}, squares), nodes, nullptr, status);
  reduction.begin_step();
  for (int lane = 1; lane < 8; ++lane) {
    reduction.break_up();
    EXPECT_THROW(reduction.finish(0), BarrierBroken) << lane << " broke it up";
  }
}

// Errors of the exchange thread name that thread, not the lanes.
TEST(GradientReduction, ErrorsOfTheExchangeThreadNameIt) {
  auto groups = threads_groups(2);
  Pair pair(chunk);
  pair.status.set_hook([](const PhaseRow& row) {
    if (row.phase == Phase::bucket && row.thread == "exchange") throw std::runtime_error("no net");
  });
  auto exchange = make_device_exchange(*groups[0], {});
  GradientReduction reduction(options_of({2, 2, 1, chunk, chunk}, pair.squares),
                              {{{0, 1}, pair.gradients.data()}}, exchange.get(), pair.status);
  pair.status.begin_step(7);
  reduction.begin_step();
  reduction.arrive(0, chunk);
  try {
    reduction.finish(0);
    FAIL() << "nothing was thrown";
  } catch (const LaneError& error) {
    EXPECT_STREQ(error.what(), "exchange, bucket 0 of step 7: no net");
  }
}

TEST(GradientReduction, ALostPeerReleasesTheLanes) {
  auto values = tower_gradients(2, chunk);
  auto groups = threads_groups(2);
  groups[1].reset();  // rank 1 is gone
  EXPECT_THROW(reduce_rank({2, 2, 1, chunk, chunk}, values, 0, groups[0].get(), 1), PeerLost);
}

TEST(Buckets, CoverTheBufferInWholeChunksTheFirstOneSmall) {
  for (int64_t total : {int64_t{0}, int64_t{1}, chunk, 10 * chunk + 7}) {
    auto buckets = make_buckets(total, 1, 3 * chunk - 5);
    int64_t next = 0;
    for (size_t b = 0; b < buckets.size(); ++b) {
      EXPECT_EQ(buckets[b].begin, next);
      EXPECT_EQ(next % chunk, 0);
      EXPECT_LE(buckets[b].size(), b == 0 ? chunk : 3 * chunk);
      next = buckets[b].end;
    }
    EXPECT_EQ(next, total);
  }
}

TEST(Buckets, SharesAreDisjointWholeChunksAndEven) {
  FloatRange bucket{chunk, 12 * chunk + 100};
  for (int count : {1, 2, 5, 20}) {
    int64_t next = bucket.begin;
    for (int member = 0; member < count; ++member) {
      FloatRange share = share_of(bucket, member, member + 1, count);
      EXPECT_EQ(share.begin, next);
      EXPECT_LE(share.size(), (12 / count + 1) * chunk);
      next = share.end;
    }
    EXPECT_EQ(next, bucket.end);
    EXPECT_EQ(share_of(bucket, 0, count, count), bucket);
  }
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

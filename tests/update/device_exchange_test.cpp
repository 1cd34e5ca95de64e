// Tests exchanges between the memories of devices; each rank is a thread with its own device.
#include <atomic>
#include <numeric>
#include <string_view>
#include <thread>

#include "engine/update/exchange.h"
#include "tests/device/every_device.h"
#include "tests/process/ranks.h"
#include "tests/train/device_kinds.h"

namespace spire {
namespace {

using Floats = std::vector<float>;
constexpr int64_t count = 100'003;  // more than a socket takes at a time

Floats values_of_rank(int rank) {
  Floats values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 1000.0f * static_cast<float>(rank));
  return values;
}

class Exchanges : public OnEachKind {
 protected:
  void SetUp() override {
    OnEachKind::SetUp();
    if (!IsSkipped() && on_gpu() && discover_cuda().devices.size() < 2)
      GTEST_SKIP() << "needs two GPUs";
  }

  struct Rank {
    int rank;
    ProcessGroup& group;
    DeviceId device;
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Communicator> exchange;
  };
  // body(rank) for two ranks at a time, on their devices.
  static void on_two(const std::function<void(Rank&)>& body) {
    auto groups = threads_groups(2);
    run_ranks(2, [&](int r) {
      ProcessGroup& group = *groups[static_cast<size_t>(r)];
      DeviceId device{GetParam(), r};
      make_current(device);
      Rank rank{r, group, device, make_stream(device), make_device_exchange(group, device)};
      try {
        body(rank);
      } catch (...) {
        for (auto& other : groups) other->interrupt();
        throw;
      }
    });
  }
};

TEST_P(Exchanges, MessagesFollowTheWorkOfTheStream) {
  on_two([](Rank& self) {
    OnDevice<float> mine(self.device, Floats(count)), theirs(self.device, Floats(2 * count));
    OnDevice<float> source(self.device, values_of_rank(self.rank));
    int peer = 1 - self.rank;
    constexpr size_t bytes = count * sizeof(float);
    for (int round = 0; round < 3; ++round) {
      // The data exists only after the copy that precedes the exchange in the stream.
      self.stream->fill_zero(mine.data(), bytes);
      self.stream->copy(mine.data(), source.data(), bytes);
      std::vector<Outgoing> sends = {
          {peer, mine.data(), bytes}, {peer, mine.data() + 1, 8}, {peer, mine.data(), 0}};
      std::vector<Incoming> receives = {
          {peer, theirs.data(), bytes}, {peer, theirs.data() + count, 8}, {peer, theirs.data(), 0}};
      self.exchange->exchange(sends, receives, *self.stream);
    }
    self.stream->synchronize();
    Floats expected = values_of_rank(peer);
    Floats got = theirs.values();
    EXPECT_EQ(Floats(got.begin(), got.begin() + count), expected);
    EXPECT_EQ(got[count], expected[1]);
    EXPECT_EQ(got[count + 1], expected[2]);
    self.exchange->check();
  });
}

// One stream is delayed on one rank: the other stream's exchange still comes second.
TEST_P(Exchanges, RunInTheOrderOfTheCallsOnAnyStreams) {
  on_two([](Rank& self) {
    constexpr size_t bytes = count * sizeof(float);
    OnDevice<float> first(self.device, values_of_rank(self.rank));
    OnDevice<float> second(self.device, values_of_rank(self.rank + 2));
    OnDevice<float> got(self.device, Floats(count)), then(self.device, Floats(count));
    auto other = make_stream(self.device);
    int peer = 1 - self.rank;
    if (self.rank == 0) {
      for (int i = 0; i < 50; ++i) self.stream->copy(got.data(), first.data(), bytes);
    }
    self.exchange->exchange(std::vector<Outgoing>{{peer, first.data(), bytes}},
                            std::vector<Incoming>{{peer, got.data(), bytes}}, *self.stream);
    self.exchange->exchange(std::vector<Outgoing>{{peer, second.data(), bytes}},
                            std::vector<Incoming>{{peer, then.data(), bytes}}, *other);
    other->synchronize();
    self.stream->synchronize();
    EXPECT_EQ(got.values(), values_of_rank(peer));
    EXPECT_EQ(then.values(), values_of_rank(peer + 2));
  });
}

TEST_P(Exchanges, AllReduceAddsAndIsEqualEverywhere) {
  on_two([](Rank& self) {
    OnDevice<float> values(self.device, values_of_rank(self.rank));
    self.exchange->all_reduce(values.data(), count, *self.stream);
    self.exchange->all_reduce(values.data(), 0, *self.stream);
    self.stream->synchronize();
    Floats sum = values_of_rank(0), other = values_of_rank(1);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    EXPECT_EQ(values.values(), sum);
  });
}

TEST_P(Exchanges, ShardsOfDoublesReachAll) {
  on_two([](Rank& self) {
    std::vector<double> mine(7, -1);
    auto r = static_cast<size_t>(self.rank);
    std::vector<std::vector<FloatRange>> shards = {{{0, 2}, {5, 7}}, {{2, 5}}};
    for (FloatRange shard : shards[r])
      for (int64_t i = shard.begin; i < shard.end; ++i) mine[static_cast<size_t>(i)] = self.rank;
    OnDevice<double> table(self.device, mine);
    ShardExchange exchange(shards, self.exchange.get(), sizeof(double));
    exchange.all_gather(table.data(), *self.stream);
    self.stream->synchronize();
    EXPECT_EQ(table.values(), (std::vector<double>{0, 0, 1, 1, 1, 0, 0}));
  });
}

// Polls as a trainer does.
template <typename Rank>
void wait_or_throw(Rank& self, const Event& event) {
  while (!self.stream->reached(event)) self.exchange->check();
}

// GPUs only: on CPUs a call has finished when it returns.
class GpuExchanges : public Exchanges {
 protected:
  void SetUp() override {
    Exchanges::SetUp();
    if (!on_gpu()) GTEST_SKIP() << "a CPU's calls wait, and throw, themselves";
  }
};

TEST_P(GpuExchanges, AnInterruptedGroupEndsPendingReceives) {
  std::atomic<bool> done{false};
  on_two([&done](Rank& self) {
    if (self.rank == 1) {  // sends nothing
      while (!done) std::this_thread::yield();
      return self.group.interrupt();
    }
    OnDevice<float> theirs(self.device, Floats(count));
    std::vector<Incoming> receives = {{1, theirs.data(), count * sizeof(float)}};
    self.exchange->exchange({}, receives, *self.stream);
    auto end = self.stream->make_event();
    self.stream->record(*end);
    EXPECT_FALSE(self.stream->reached(*end));
    self.group.interrupt();
    EXPECT_THROW(wait_or_throw(self, *end), PeerLost);
    self.stream->synchronize();  // ends, as the communicator was aborted
    EXPECT_THROW(self.exchange->exchange({}, receives, *self.stream), PeerLost);
    EXPECT_THROW(self.exchange->check(), PeerLost);
    done = true;
  });
}

TEST_P(GpuExchanges, ARankThatAbortsReleasesItsOwnStream) {
  on_two([](Rank& self) {
    OnDevice<float> theirs(self.device, Floats(count));
    std::vector<Incoming> receives = {{1 - self.rank, theirs.data(), count * sizeof(float)}};
    self.exchange->exchange({}, receives, *self.stream);
    self.exchange->abort();
    self.stream->synchronize();
    EXPECT_THROW(self.exchange->check(), PeerLost);
  });
}

// One rank or both say why; the other may only see that it was interrupted, as the watchdog does.
TEST_P(GpuExchanges, RefuseOneGpuForTwoRanks) {
  auto groups = threads_groups(2);
  std::atomic<int> refused{0};
  run_ranks(2, [&](int rank) {
    ProcessGroup& group = *groups[static_cast<size_t>(rank)];
    try {
      make_device_exchange(group, {DeviceKind::cuda, 0});
      ADD_FAILURE() << "rank " << rank << " has a communicator";
    } catch (const Error& error) {
      refused +=
          std::string_view(error.what()).find("NCCL takes each GPU once") != std::string::npos;
    }
    for (auto& other : groups) other->interrupt();
  });
  EXPECT_GE(refused.load(), 1);
}

// What one GPU can show of NCCL: it is found, connects, computes, closes or aborts, and starts
// anew.
class NcclAlone : public OnEachKind {
 protected:
  void SetUp() override {
    OnEachKind::SetUp();
    if (!on_gpu()) GTEST_SKIP() << "NCCL is for GPUs";
  }
};

TEST_P(NcclAlone, ConnectsAndEndsAnyNumberOfTimes) {
  const DeviceId gpu{DeviceKind::cuda, 0};
  make_current(gpu);
  auto stream = make_stream(gpu);
  for (bool aborts : {false, true, false}) {
    ExchangeEnd end{0, gpu};
    auto exchange = std::move(make_nccl_exchanges(nullptr, {&end, 1}, {{0, 1}}).front());
    EXPECT_EQ(exchange->size(), 1);
    OnDevice<float> values(gpu, values_of_rank(3));
    exchange->all_reduce(values.data(), count, *stream);
    exchange->exchange({}, {}, *stream);
    stream->synchronize();
    EXPECT_EQ(values.values(), values_of_rank(3));
    exchange->check();
    if (!aborts) continue;
    exchange->abort();
    EXPECT_THROW(exchange->check(), PeerLost);
  }
}

SPIRE_TEST_ON_EACH_KIND(Exchanges);
SPIRE_TEST_ON_EACH_KIND(GpuExchanges);
SPIRE_TEST_ON_EACH_KIND(NcclAlone);

}  // namespace
}  // namespace spire

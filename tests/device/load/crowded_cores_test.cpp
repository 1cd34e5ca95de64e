// Teams beside other programs: what is left to them, and that their threads go there and back.
#include "engine/device/load/crowded_cores.h"

#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <omp.h>

#include "engine/base/thread.h"
#include "engine/device/lane_team.h"
#include "engine/device/load/host_use.h"
#include "tests/base/no_threads.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using Cores = std::vector<int>;

TEST(SharedCores, AreDividedAmongLanes) {
  EXPECT_THAT(divided_among({1, 3, 5, 7}, 2), ElementsAre(Cores{1, 3}, Cores{5, 7}));
  EXPECT_THAT(divided_among({1, 3, 5}, 2), ElementsAre(Cores{1, 3}, Cores{5}));
  EXPECT_THAT(divided_among({3}, 2), ElementsAre(Cores{3}, Cores{3}));
}

// The cores of the threads of this thread's team.
std::vector<Cores> cores_of_team(int threads) {
  std::mutex mutex;
  std::vector<Cores> cores;
#pragma omp parallel num_threads(threads)
  {
    Cores own = allowed_cores();
    std::lock_guard lock(mutex);
    cores.push_back(own);
  }
  return cores;
}

size_t threads_named(const std::string& name) {
  size_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string found;
    count += std::getline(file, found) && found == name;
  }
  return count;
}

// libgomp does not wait for the threads of a team to end.
void wait_for_turns(size_t threads) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (threads_named("spire turns") != threads && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(threads_named("spire turns"), threads);
}

class CrowdedCoresTest : public testing::Test {
 protected:
  void SetUp() override {
    if (allowed_cores().size() < 2) GTEST_SKIP() << "needs two cores";
  }
  LaneSpec lane() const { return {{DeviceKind::cpu, 0}, two_, 2}; }

  Cores two_ = [] {
    Cores all = allowed_cores();
    all.resize(std::min<size_t>(all.size(), 2));
    return all;
  }();
  SystemFiles nothing_;  // by which the watching thread decides nothing
};

// Three readings of what others use of each core, and then the time of a decision.
void three_readings(CrowdedCores& crowded, const std::optional<std::vector<double>>& others,
                    CrowdDecisions::Time& now) {
  for (int reading = 0; reading < 3; ++reading)
    crowded.decide(others, now += std::chrono::milliseconds(200));
  now += std::chrono::seconds(4);
}

TEST_F(CrowdedCoresTest, ATeamTakesTurnsOnTheCoreThatIsLeft) {
  start_thread({"test", two_}, [&] {
    CrowdedCores crowded({lane()}, nothing_.root());
    CrowdDecisions::Time now;
    auto settled = [&](const std::optional<std::vector<double>>& others) {
      three_readings(crowded, others, now);
      crowded.settle(0);
      return cores_of_team(2);
    };
    EXPECT_THAT(settled({{0.1, 0}}), Each(two_));
    EXPECT_EQ(threads_named("spire turns"), 0u);
    Cores second = {two_[1]}, first = {two_[0]};
    EXPECT_THAT(settled({{0.7, 0}}), Each(second));
    EXPECT_GT(threads_named("spire turns"), 0u);
    EXPECT_THAT(settled(std::nullopt), Each(second));
    EXPECT_THAT(settled({{0.2, 0.1}}), Each(second)) << "on the brink";
    EXPECT_THAT(settled({{0.4, 0.6}}), Each(second)) << "as good as the other";
    EXPECT_THAT(settled({{0, 1}}), Each(first)) << "the others have moved";
    for (int quiet = 1; quiet < 3; ++quiet) EXPECT_THAT(settled({{0.1, 0}}), Each(first));
    EXPECT_THAT(settled({{0.1, 0}}), Each(two_));
    wait_for_turns(0);
    EXPECT_THAT(settled({{0.5, 0.5}}), Each(SizeIs(1))) << "once more";
  }).join();
}

// From the kernel's counts to the cores: another program on core 0.
TEST_F(CrowdedCoresTest, ATeamLeavesTheCoreThatIsBusy) {
  if (two_ != Cores{0, 1}) GTEST_SKIP() << "needs cores 0 and 1";
  start_thread({"test", two_}, [&] {
    CrowdedCores crowded({lane()}, nothing_.root());
    SystemFiles counted;           // not those of the thread that watches
    auto count = [&](int ticks) {  // another program's on core 0, the process's on core 1
      counted.file("proc/stat", fmt::format("cpu0 {} 0 0 0\ncpu1 {} 0 0 0\n", ticks, ticks));
      auto stat = fmt::format(
          "17 (a) S 1 2 3 4 5 6 7 8 9 10 {} 0 0 0 20 0 3 0 99 1 2 3 0 0 0 0 0 0 "
          "0 0 0 0 0 0 17 1 0",
          ticks);
      counted.file("proc/self/stat", stat).file("proc/self/task/17/stat", stat);
    };
    count(0);
    OtherLoad others({0, 1}, counted.root());
    CrowdDecisions::Time now;
    for (int reading = 1; reading <= 4; ++reading) {
      count(20 * reading);
      crowded.decide(others.read_each(), now += std::chrono::milliseconds(200));
    }
    crowded.settle(0);
    EXPECT_THAT(cores_of_team(2), Each(Cores{1}));
  }).join();
}

// Threads of a team that shares a core without turns would wait for each other by whole time
// slices.
TEST_F(CrowdedCoresTest, NothingChangesWhereTheSystemRefusesTheThreads) {
  start_thread({"test", two_}, [&] {
    CrowdedCores crowded({lane()}, nothing_.root());
    EXPECT_THAT(cores_of_team(2), Each(two_));
    CrowdDecisions::Time now;
    {
      NoThreads none;
      three_readings(crowded, {{1, 0}}, now);
    }
    for (int later = 0; later < 2; ++later) {
      crowded.settle(0);
      EXPECT_THAT(cores_of_team(2), Each(two_));
      EXPECT_EQ(threads_named("spire turns"), 0u);
      three_readings(crowded, {{1, 0}}, now);  // no second try, which might take the last threads
    }
  }).join();
}

TEST_F(CrowdedCoresTest, TwoRunsTakeDifferentCores) {
  start_thread({"test", two_}, [&] {
    CrowdedCores one({lane()}, nothing_.root()), other({lane()}, nothing_.root());
    CrowdDecisions::Time now, later;
    three_readings(one, {{0.5, 0.5}}, now);
    three_readings(other, {{0.5, 0.5}}, later);
    other.settle(0);
    Cores second = allowed_cores();
    one.settle(0);
    Cores first = allowed_cores();
    EXPECT_THAT(first, SizeIs(1));
    EXPECT_THAT(second, SizeIs(1));
    EXPECT_NE(first, second);
    // Nor does one move to the other's core where that looks emptier.
    bool low = first == Cores{two_[0]};
    three_readings(one, {{low ? 1.0 : 0.0, low ? 0.0 : 1.0}}, now);
    one.settle(0);
    EXPECT_EQ(allowed_cores(), first);
  }).join();
}

// libgomp lets threads spin briefly where it has more of them than the process has cores.
TEST_F(CrowdedCoresTest, TurnsHoldMoreThreadsThanThereAreCores) {
  size_t more = allowed_cores().size() + 1;
  CoreTurns turns(2);
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(turns.begin({two_[0]}));
    EXPECT_TRUE(turns.begin(two_));
    wait_for_turns(more);
    turns.end();
    wait_for_turns(0);
  }
}

}  // namespace
}  // namespace spire

// Teams beside other programs: what is left to them, and that their threads go there and back.
#include "engine/device/load/crowded_cores.h"

#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <omp.h>

#include "engine/base/thread.h"
#include "engine/device/lane_team.h"
#include "tests/device/system_files.h"

namespace spire {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsSubsetOf;
using testing::SizeIs;
using Cores = std::vector<int>;

TEST(CoresLeft, AreTheCoresThatOthersDoNotUse) {
  struct Case {
    double others;
    int threads, cores, left;
  };
  for (const Case& c :
       {Case{0, 2, 2, 0}, Case{0.45, 2, 2, 0}, Case{0.55, 2, 2, 1}, Case{1, 2, 2, 1},
        Case{2, 2, 2, 1}, Case{0, 3, 2, 0},  // more threads than cores are no load
        Case{3, 4, 8, 0}, Case{5, 4, 8, 3}, Case{4, 8, 8, 4}, Case{8, 8, 8, 1}, Case{3, 64, 64, 0},
        Case{7, 64, 64, 57}})
    EXPECT_EQ(cores_left(c.others, c.threads, c.cores), c.left)
        << c.others << " of " << c.cores << " beside " << c.threads;
}

TEST(CoresLeft, AreDividedAmongLanes) {
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

TEST_F(CrowdedCoresTest, ATeamTakesTurnsOnTheCoreThatIsLeft) {
  start_thread({"test", two_}, [&] {
    CrowdedCores crowded({lane()}, nothing_.root());
    auto settled = [&](std::optional<double> others) {
      crowded.decide(others);
      crowded.settle(0);
      return cores_of_team(2);
    };
    EXPECT_THAT(settled(0.1), Each(two_));
    EXPECT_EQ(threads_named("turns"), 0u);
    std::vector<Cores> turns = settled(1.0);
    EXPECT_THAT(turns, Each(SizeIs(1)));
    EXPECT_EQ(turns[0], turns[1]);
    EXPECT_THAT(turns[0], IsSubsetOf(two_));
    EXPECT_THAT(settled(std::nullopt), Each(turns[0]));
    EXPECT_THAT(settled(0.3), Each(turns[0])) << "on the brink";
    EXPECT_THAT(settled(0.1), Each(two_));
  }).join();
}

TEST_F(CrowdedCoresTest, TwoRunsTakeDifferentCores) {
  start_thread({"test", two_}, [&] {
    CrowdedCores one({lane()}, nothing_.root()), other({lane()}, nothing_.root());
    one.decide(1.0);
    other.decide(1.0);
    one.settle(0);
    Cores first = allowed_cores();
    other.settle(0);
    EXPECT_THAT(first, SizeIs(1));
    EXPECT_THAT(allowed_cores(), SizeIs(1));
    EXPECT_NE(allowed_cores(), first);
  }).join();
}

// libgomp lets threads spin briefly where it has more of them than the process has cores.
TEST_F(CrowdedCoresTest, TurnsHoldMoreThreadsThanThereAreCores) {
  size_t more = allowed_cores().size() + 1;
  Turns turns({two_[0]});
  while (threads_named("turns") < more) std::this_thread::yield();
  EXPECT_EQ(threads_named("turns"), more);
}

}  // namespace
}  // namespace spire

#include "engine/device/lane_team.h"

#include <numeric>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <omp.h>

#include "engine/base/fail.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

std::vector<LaneSpec> lanes(int count) {
  return std::vector<LaneSpec>(static_cast<size_t>(count), LaneSpec{{DeviceKind::cpu, 0}, {0}, 1});
}

TEST(LaneTeam, EveryLaneRunsEveryParallelOnce) {
  LaneTeam team(lanes(4));
  std::vector<int> runs(4, 0);
  team.lead([&] {
    for (int i = 0; i < 100; ++i)
      team.parallel([&](int lane) { ++runs[static_cast<size_t>(lane)]; });
  });
  EXPECT_EQ(runs, (std::vector<int>{100, 100, 100, 100}));
}

TEST(LaneTeam, TheCallerMayBeTheLane) {
  LaneTeam team({{.device = {}, .cores = {}, .on_caller = true}});
  volatile double least = 5e-324;  // a denormal
  auto thread = [] { return std::this_thread::get_id(); };
  std::jthread([&] {
    std::thread::id led, ran;
    double flushed = 1;
    team.lead([&] {
      led = thread();
      team.parallel([&](int) { ran = thread(), flushed = least * 2; });
    });
    EXPECT_EQ(led, thread());
    EXPECT_EQ(ran, thread());
    EXPECT_EQ(flushed, 0);
    int team_in_lead = 0, before = omp_get_max_threads();
    team.lead([&] { team_in_lead = omp_get_max_threads(); });
    EXPECT_EQ(team_in_lead, 1);
    EXPECT_EQ(omp_get_max_threads(), before);
    EXPECT_GT(least * 2, 0);  // the thread's own settings are back
    EXPECT_THROW(team.lead([] { throw std::out_of_range("mine"); }), std::out_of_range);
    EXPECT_GT(least * 2, 0);
  });
}

TEST(LaneTeam, BarrierOrdersWritesBeforeReads) {
  LaneTeam team(lanes(3));
  std::vector<int> cells(3, 0), sums(3, 0);
  team.lead([&] {
    for (int round = 1; round <= 50; ++round) {
      team.parallel([&](int lane) {
        cells[static_cast<size_t>(lane)] = round;
        team.barrier();
        sums[static_cast<size_t>(lane)] = std::accumulate(cells.begin(), cells.end(), 0);
        team.barrier();
      });
      for (int sum : sums) ASSERT_EQ(sum, 3 * round);
    }
  });
}

TEST(LaneTeam, AFailingLaneReleasesTheOthersAndIsReported) {
  LaneTeam team(lanes(3));
  for (int attempt = 0; attempt < 3; ++attempt) {
    auto run = [&](int lane) {
      if (lane == 1) fail(Category::data, "lane 1 of attempt {}", attempt);
      team.barrier();
    };
    EXPECT_EQ(message_of(Category::data, [&] { team.lead([&] { team.parallel(run); }); }),
              fmt::format("lane 1 of attempt {}", attempt));
  }
  int runs = 0;  // the team can be used again
  team.lead([&] {
    team.parallel([&](int lane) {
      if (lane == 0) ++runs;
    });
  });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace spire

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include <spire/world.h>

#include "engine/base/system.h"
#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using testing::HasSubstr;

// Expects that a gather reaches all ranks and that they leave without a failure.
void expect_whole(World& world, int rank, int size) {
  EXPECT_EQ(world.rank(), rank);
  EXPECT_EQ(world.size(), size);
  ASSERT_EQ(world.ranks.size(), size_t(size));
  EXPECT_EQ(world.ranks[size_t(rank)].rank, rank);
  auto texts = all_gather(*world.group, std::to_string(rank));
  for (int r = 0; r < size; ++r) EXPECT_EQ(texts[size_t(r)], std::to_string(r));
  world.watchdog->leave();
  EXPECT_FALSE(world.watchdog->failure());
}

TEST(World, OneProcessIsAWorld) {
  JoinOptions options;
  options.cores = {3, 4};
  auto world = join_world(read_launch([](auto&) { return std::nullopt; }), options);
  EXPECT_EQ(world->ranks[0].cores, options.cores);
  EXPECT_EQ(world->ranks[0].host, host_name());
  EXPECT_EQ(to_string(world->ranks[0]),
            fmt::format("rank 0 (host {}, pid {})", host_name(), world->ranks[0].pid));
  expect_whole(*world, 0, 1);
}

TEST(World, ThreadsAreRanks) {
  for (int size : {1, 2, 4}) {
    auto worlds = threads_world(size);
    run_ranks(size, [&](int rank) { expect_whole(*worlds[size_t(rank)], rank, size); });
  }
}

TEST(World, RanksJoinByTorchrunsVariables) {
  int port = Listener(0).port();
  run_ranks(3, [&](int rank) {
    auto environment = [&](const std::string& name) -> std::optional<std::string> {
      if (name == "RANK") return std::to_string(rank);
      if (name == "WORLD_SIZE") return "3";
      if (name == "MASTER_ADDR") return "127.0.0.1";
      if (name == "MASTER_PORT") return std::to_string(port);
      return {};
    };
    JoinOptions options;
    options.start_seconds = 60;
    // Threads share a pid, so the ranks differ in nothing but their number.
    auto world = join_world(read_launch(environment), options);
    EXPECT_EQ(world->group->transport(), "TCP");
    expect_whole(*world, rank, 3);
  });
}

// A rank that fails reports it to the watchdog; the others leave their exchange and learn the
// cause.
TEST(World, AFailureReleasesTheOthersExchanges) {
  auto worlds = threads_world(3);
  run_ranks(3, [&](int rank) {
    World& world = *worlds[size_t(rank)];
    Failure mine;
    mine.rank = rank;
    if (rank == 2) {
      mine.category = Category::data;
      mine.text = "rank 2 cannot read its data";
    } else {
      uint8_t never = 0;
      Incoming receive{2, &never, 1};
      try {
        world.group->exchange({}, {&receive, 1});
        ADD_FAILURE() << "something came";
      } catch (const PeerLost& lost) {
        mine.text = lost.what();
        mine.consequence = true;
      }
    }
    Failure decided = world.watchdog->fail(mine);
    EXPECT_EQ(decided.category, Category::data);
    EXPECT_EQ(decided.rank, 2);
    EXPECT_THAT(decided.text, HasSubstr("rank 2 cannot read its data"));
  });
}

TEST(World, WithoutMpiTheBuildSaysWhatToDo) {
  if (!mpi_version().empty()) GTEST_SKIP() << "this build has " << mpi_version();
  Launch launch;
  launch.launcher = "mpirun";
  launch.size = 2;
  launch.mpi = true;
  EXPECT_THAT(message_of(Category::device, [&] { join_world(launch, {}); }),
              testing::AllOf(HasSubstr("mpirun starts 2 processes"), HasSubstr("-DSPIRE_MPI=ON")));
}

}  // namespace
}  // namespace spire

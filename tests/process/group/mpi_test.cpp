// Run by mpirun as several ranks: each runs the same tests in the same order, in one world. With
// the argument --release, the test is instead that a rank that waits for ever can be released.
#include <cmath>
#include <iostream>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/world.h>

#include "engine/process/group/process_group.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

std::unique_ptr<World>& world() {
  static std::unique_ptr<World> joined;
  return joined;
}

uint32_t word_of(int from, int to, size_t message, size_t i) {
  return static_cast<uint32_t>(i * 2654435761u + message * 97 + size_t(from) * 13 + size_t(to));
}

TEST(MpiGroup, KnowsRankAndSize) {
  World& all = *world();
  EXPECT_TRUE(all.launch.mpi);
  EXPECT_EQ(all.group->rank(), all.rank());
  EXPECT_EQ(all.group->size(), all.size());
  EXPECT_THAT(all.group->transport(), StartsWith("MPI ("));
  EXPECT_THAT(all.group->transport(), HasSubstr(mpi_version()));
  EXPECT_THAT(mpi_version(), Not(HasSubstr(",")));
  ASSERT_EQ(all.ranks.size(), size_t(all.size()));
  for (int rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all.ranks[size_t(rank)].rank, rank);
  EXPECT_EQ(all.ranks[size_t(all.rank())].cores, std::vector<int>{all.rank() + 100});
}

TEST(MpiGroup, TextsReachAll) {
  ProcessGroup& group = *world()->group;
  auto texts = all_gather(group, std::string(size_t(group.rank()), 'r'));
  for (int rank = 0; rank < group.size(); ++rank) EXPECT_EQ(texts[size_t(rank)].size(), rank);
  EXPECT_EQ(broadcast(group, "from " + std::to_string(group.rank())), "from 0");
}

TEST(MpiGroup, PiecesReachRankZero) {
  ProcessGroup& group = *world()->group;
  std::string piece = "of " + std::to_string(group.rank()), taken;
  gather_pieces(
      group, [&] { return std::exchange(piece, ""); },
      [&](std::string_view text) { taken += text; });
  std::string expected;
  for (int rank = 0; rank < group.size(); ++rank) expected += "of " + std::to_string(rank);
  EXPECT_EQ(taken, group.rank() == 0 ? expected : "");
}

// Several messages a pair in all directions at a time, from empty ones to such as MPI sends only
// once the receiver waits.
TEST(MpiGroup, MessagesOfAnySizesArriveInOrder) {
  ProcessGroup& group = *world()->group;
  const size_t sizes[] = {1, 0, 1000, 4'000'000, 3};
  for (int round = 0; round < 5; ++round) {
    std::vector<std::vector<uint32_t>> sent, received;
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
    for (int peer = 0; peer < group.size(); ++peer) {
      if (peer == group.rank()) continue;
      for (size_t m = 0; m < std::size(sizes); ++m) {
        auto& message = sent.emplace_back(sizes[m]);
        for (size_t i = 0; i < sizes[m]; ++i) message[i] = word_of(group.rank(), peer, m, i);
        received.emplace_back(sizes[m]);
        sends.push_back({peer, message.data(), sizes[m] * sizeof(uint32_t)});
        receives.push_back({peer, received.back().data(), sizes[m] * sizeof(uint32_t)});
      }
    }
    group.exchange(sends, receives);
    for (size_t at = 0; at < received.size(); ++at) {
      int from = receives[at].peer;
      size_t m = at % std::size(sizes), wrong = 0;
      for (size_t i = 0; i < sizes[m]; ++i)
        wrong += received[at][i] != word_of(from, group.rank(), m, i);
      EXPECT_EQ(wrong, 0u) << "message " << m << " from rank " << from;
    }
  }
}

float value_of(int rank, size_t i) {
  return static_cast<float>(std::sin(0.3 * static_cast<double>(i)) * (rank + 1));
}

// The order of additions is MPI's: size - 1 roundings, and the same bits everywhere.
TEST(MpiGroup, AllReduceIsRightAndTheSameOnEachRank) {
  ProcessGroup& group = *world()->group;
  for (size_t count : {size_t{0}, size_t{1}, size_t{17}, size_t{1'000'003}}) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) values[i] = value_of(group.rank(), i);
    group.all_reduce(values.data(), static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) {
      double exact = 0, magnitude = 0;
      for (int rank = 0; rank < group.size(); ++rank) {
        exact += value_of(rank, i);
        magnitude += std::abs(value_of(rank, i));
      }
      ASSERT_LE(std::abs(values[i] - exact), (group.size() - 1) * magnitude * 0x1p-24) << i;
    }
    std::string bits(reinterpret_cast<const char*>(values.data()), count * sizeof(float));
    for (auto& theirs : all_gather(group, bits)) EXPECT_TRUE(theirs == bits);
  }
}

TEST(MpiGroup, MessagesToOneselfAreRefused) {
  Outgoing send{world()->rank(), nullptr, 0};
  EXPECT_THROW(world()->group->exchange({&send, 1}, {}), Error);
}

TEST(MpiGroup, RanksCountedOtherwiseAreRefused) {
  Launch launch = world()->launch;
  launch.launcher = "srun";
  ++launch.size;
  EXPECT_THAT([&] { mpi_group(launch); }, ThrowsMessage<Error>(HasSubstr("srun --mpi=pmix")));
}

// Rank 1's message is longer than MPI takes before rank 0 is inside its exchange. That then waits
// for one that never comes, until rank 1's failure reaches rank 0's watchdog.
int release_a_waiting_rank() {
  World& all = *world();
  std::vector<uint8_t> large(64 << 20);
  Failure mine;
  mine.rank = all.rank();
  try {
    uint8_t never = 0;
    Outgoing send{0, large.data(), large.size()};
    Incoming receives[] = {{1, large.data(), large.size()}, {1, &never, 1}};
    if (all.rank() == 1) all.group->exchange({&send, 1}, {});
    if (all.rank() == 0) all.group->exchange({}, receives);
    mine.category = Category::data;
    mine.text = "rank 1 has no more data";
  } catch (const PeerLost& lost) {
    mine.text = lost.what();
    mine.consequence = true;
  }
  Failure decided = all.watchdog->fail(mine);
  if (all.rank() == 0)
    std::cout << "rank 0 was released: " << mine.text << "; cause: " << decided.text << std::endl;
  return 8;
}

}  // namespace
}  // namespace spire

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  auto launch = spire::read_launch(spire::process_environment());
  spire::JoinOptions options;
  options.start_seconds = 60;
  options.cores = {launch.rank + 100};
  spire::world() = spire::join_world(launch, options);
  bool release = count > 1 && std::string(arguments[1]) == "--release";
  int code = release ? spire::release_a_waiting_rank() : RUN_ALL_TESTS();
  if (!release) spire::world()->watchdog->leave();
  spire::world().reset();
  return code;
}

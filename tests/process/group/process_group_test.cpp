#include "engine/process/group/process_group.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

namespace spire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// Returns the messages of one round from rank `from` to rank `to`, which all ranks can compute:
// empty ones, ones that fit a packet, and ones beyond the buffers of a socket.
std::vector<std::vector<uint8_t>> messages_between(int round, int from, int to) {
  std::mt19937 random(static_cast<uint32_t>(round * 10'000 + from * 100 + to));
  std::vector<std::vector<uint8_t>> messages(random() % 4);
  for (auto& message : messages) {
    const size_t limits[] = {1, 10, 5000, 3'000'000};
    message.resize(random() % limits[random() % 4]);
    for (auto& byte : message) byte = static_cast<uint8_t>(random());
  }
  return messages;
}

void random_round(ProcessGroup& group, int round) {
  int rank = group.rank();
  std::vector<std::vector<uint8_t>> sent, expected;
  std::vector<std::pair<int, std::vector<uint8_t>>> received;
  std::vector<int> receivers;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == rank) continue;
    for (auto& message : messages_between(round, rank, peer)) {
      sent.push_back(std::move(message));
      receivers.push_back(peer);
    }
    for (auto& message : messages_between(round, peer, rank)) {
      received.emplace_back(peer, std::vector<uint8_t>(message.size()));
      expected.push_back(std::move(message));
    }
  }
  std::vector<Outgoing> sends;
  for (size_t i = 0; i < sent.size(); ++i)
    sends.push_back({receivers[i], sent[i].data(), sent[i].size()});
  std::vector<Incoming> receives;
  for (auto& [peer, bytes] : received) receives.push_back({peer, bytes.data(), bytes.size()});
  group.exchange(sends, receives);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_TRUE(received[i].second == expected[i]) << "rank " << rank << ", message " << i;
}

TEST(SocketGroup, MessagesOfAnySizesArriveInOrder) {
  for (int size = 2; size <= 5; ++size) {
    auto groups = threads_groups(size);
    run_ranks(size, [&](int rank) {
      for (int round = 0; round < 10; ++round) random_round(*groups[size_t(rank)], round);
    });
  }
}

// Far more than the buffers hold, both ways at a time: ranks that sent first and received then
// would wait for ever.
TEST(SocketGroup, LargeMessagesBothWaysDoNotBlock) {
  auto groups = threads_groups(2);
  constexpr size_t bytes = 32 << 20;
  run_ranks(2, [&](int rank) {
    std::vector<uint8_t> mine(bytes, static_cast<uint8_t>(rank + 1)), theirs(bytes);
    Outgoing send{1 - rank, mine.data(), bytes};
    Incoming receive{1 - rank, theirs.data(), bytes};
    groups[size_t(rank)]->exchange({&send, 1}, {&receive, 1});
    EXPECT_EQ(std::ranges::count(theirs, static_cast<uint8_t>(2 - rank)), bytes);
  });
}

TEST(SocketGroup, AnEmptyExchangeDoesNotWait) {
  auto groups = threads_groups(2);
  groups[0]->exchange({}, {});
  Outgoing nothing{1, nullptr, 0};
  groups[0]->exchange({&nothing, 1}, {});
}

TEST(SocketGroup, MessagesToOneselfOrToAnUnknownRankAreRefused) {
  auto groups = threads_groups(2);
  for (int peer : {0, 2, -1}) {
    Outgoing send{peer, nullptr, 0};
    EXPECT_THAT(
        [&] {
          groups[0]->exchange({&send, 1}, {});
        },
        ThrowsMessage<Error>(HasSubstr("exchanges with rank")));
  }
}

// Rank 1's long message can only leave once rank 0 is inside its exchange, which then waits for a
// message that never comes.
TEST(SocketGroup, InterruptReleasesAnExchange) {
  auto groups = threads_groups(2);
  run_ranks(2, [&](int rank) {
    std::vector<uint8_t> large(32 << 20);
    if (rank == 1) {
      Outgoing send{0, large.data(), large.size()};
      groups[1]->exchange({&send, 1}, {});
      groups[0]->interrupt();
      return;
    }
    uint8_t never = 0;
    Incoming receives[] = {{1, large.data(), large.size()}, {1, &never, 1}};
    EXPECT_THAT([&] { groups[0]->exchange({}, receives); },
                ThrowsMessage<PeerLost>(HasSubstr("interrupted")));
    EXPECT_THROW(groups[0]->exchange({}, {}), PeerLost) << "and every later one";
    float value = 1;
    EXPECT_THROW(groups[0]->all_reduce(&value, 1), PeerLost);
  });
}

TEST(SocketGroup, AClosedPeerIsNamed) {
  auto groups = threads_groups(3);
  groups[2].reset();
  float values[3] = {};
  EXPECT_THAT([&] { groups[0]->all_reduce(values, 3); },
              ThrowsMessage<PeerLost>(HasSubstr("rank 2 closed its connection")));
  EXPECT_THAT([&] { groups[0]->exchange({}, {}); },
              ThrowsMessage<PeerLost>(HasSubstr("rank 2 closed its connection")));
}

TEST(SocketGroup, APeerMayCloseAfterItsLastMessage) {
  auto groups = threads_groups(3);
  uint32_t sent = 7, received = 0;
  Outgoing send{0, &sent, sizeof sent};
  groups[1]->exchange({&send, 1}, {});
  groups[1].reset();
  Incoming receive{1, &received, sizeof received};
  groups[0]->exchange({}, {&receive, 1});
  EXPECT_EQ(received, 7u);

  // No message of rank 1 is missing, so its end is no failure between the others.
  run_ranks(3, [&](int rank) {
    if (rank == 1) return;
    Outgoing to{2 - rank, &sent, sizeof sent};
    uint32_t other = 0;
    Incoming from{2 - rank, &other, sizeof other};
    groups[size_t(rank)]->exchange({&to, 1}, {&from, 1});
    EXPECT_EQ(other, 7u);
  });
  EXPECT_THROW(groups[0]->exchange({}, {&receive, 1}), PeerLost);
}

float value_of(int rank, int64_t i) {
  return static_cast<float>(std::sin(0.7 * static_cast<double>(i) + rank) * (rank + 1));
}

// The additions are in rank order, so the float result is known exactly, and near the real sum:
// size - 1 roundings of at most half a unit in the last place of a partial sum each.
TEST(SocketGroup, AllReduceAddsInRankOrderOnEachRank) {
  for (int size = 2; size <= 5; ++size) {
    auto groups = threads_groups(size);
    for (int64_t count : {0, 1, 3, 1024, 100'003}) {
      run_ranks(size, [&](int rank) {
        std::vector<float> values(static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) values[size_t(i)] = value_of(rank, i);
        groups[size_t(rank)]->all_reduce(values.data(), count);
        for (int64_t i = 0; i < count; ++i) {
          float in_order = value_of(0, i);
          double exact = value_of(0, i), magnitude = std::abs(exact);
          for (int r = 1; r < size; ++r) {
            in_order += value_of(r, i);
            exact += value_of(r, i);
            magnitude += std::abs(value_of(r, i));
          }
          ASSERT_EQ(values[size_t(i)], in_order) << i;
          ASSERT_LE(std::abs(values[size_t(i)] - exact), (size - 1) * magnitude * 0x1p-24) << i;
        }
      });
    }
  }
}

TEST(SocketGroup, KnowsRankSizeAndTransport) {
  auto groups = threads_groups(3);
  EXPECT_EQ(groups[2]->rank(), 2);
  EXPECT_EQ(groups[2]->size(), 3);
  EXPECT_EQ(groups[2]->transport(), "TCP");
  std::vector<Socket> none(2);
  EXPECT_THROW(socket_group(0, std::move(none)), Error);
}

TEST(SingleProcess, HasNoOtherRank) {
  auto group = single_process();
  EXPECT_EQ(group->rank(), 0);
  EXPECT_EQ(group->size(), 1);
  group->exchange({}, {});
  float values[] = {1.5f, -2.0f};
  group->all_reduce(values, 2);
  EXPECT_EQ(values[0], 1.5f);
  EXPECT_EQ(values[1], -2.0f);
  Outgoing send{0, values, 4};
  EXPECT_THROW(group->exchange({&send, 1}, {}), Error);
  group->interrupt();
  EXPECT_THROW(group->exchange({}, {}), PeerLost);
  EXPECT_THROW(group->all_reduce(values, 2), PeerLost);
}

std::string text_of(int rank) {
  return std::string(static_cast<size_t>(rank) * 100'000, static_cast<char>('a' + rank));
}

TEST(GroupText, EveryRankGetsAllTextsByRank) {
  for (int size : {1, 2, 5}) {
    auto groups = threads_groups(size);
    run_ranks(size, [&](int rank) {
      auto texts = all_gather(*groups[size_t(rank)], text_of(rank));
      ASSERT_EQ(texts.size(), size_t(size));
      for (int r = 0; r < size; ++r) EXPECT_EQ(texts[size_t(r)], text_of(r));
    });
  }
}

// Rank r has r pieces, of growing size.
TEST(GroupText, PiecesReachRankZeroInOrder) {
  for (int size : {1, 2, 4}) {
    auto groups = threads_groups(size);
    std::string taken, expected;
    for (int r = 0; r < size; ++r)
      for (int i = 0; i < r; ++i) expected += std::string(size_t(1000 * i + 1), char('a' + r));
    run_ranks(size, [&](int rank) {
      int sent = 0;
      gather_pieces(
          *groups[size_t(rank)],
          [&] {
            if (sent == rank) return std::string();
            return std::string(size_t(1000 * sent++ + 1), char('a' + rank));
          },
          [&](std::string_view piece) {
            EXPECT_EQ(rank, 0);
            taken += piece;
          });
    });
    EXPECT_EQ(taken, expected);
  }
}

TEST(GroupText, RankZerosTextReachesAll) {
  auto groups = threads_groups(3);
  run_ranks(3, [&](int rank) {
    EXPECT_EQ(broadcast(*groups[size_t(rank)], "from " + std::to_string(rank)), "from 0");
    EXPECT_EQ(broadcast(*groups[size_t(rank)], rank == 0 ? "" : "else"), "");
  });
}

TEST(GroupText, OneProcessGathersItsOwn) {
  auto group = single_process();
  EXPECT_EQ(all_gather(*group, "alone"), std::vector<std::string>{"alone"});
  EXPECT_EQ(broadcast(*group, "alone"), "alone");
}

}  // namespace
}  // namespace spire

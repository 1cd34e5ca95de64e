#include "engine/process/rendezvous/rendezvous.h"

#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include "engine/process/rendezvous/handshake.h"
#include "engine/process/rendezvous/peer_mesh.h"
#include "engine/process/socket.h"
#include "tests/process/rendezvous/launches.h"
#include "tests/process/rendezvous/unknown_peer.h"

namespace spire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

// The errors of all ranks, by rank; empty texts for those that joined.
struct Ends {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::vector<Category> categories;
  explicit Ends(int size) : texts(size_t(size)), categories(size_t(size)) {}

  void meet(int at, const Launch& launch, const RankInfo& self, double seconds) {
    try {
      join_at_master(launch, self, seconds);
    } catch (const Error& error) {
      std::lock_guard lock(mutex);
      texts[size_t(at)] = error.what();
      categories[size_t(at)] = error.category();
    }
  }
};

void expect_star_works(std::vector<RendezvousResult>& results) {
  for (size_t rank = 1; rank < results.size(); ++rank) {
    ASSERT_EQ(results[rank].links.size(), 1u);
    EXPECT_EQ(results[rank].links[0].rank, 0);
    EXPECT_EQ(results[rank].links[0].peer, "rank 0 (host host0, pid 100)");
    ControlLink& middle = results[0].links[rank - 1];
    EXPECT_EQ(middle.rank, static_cast<int>(rank));
    EXPECT_EQ(middle.peer, to_string(info_of(middle.rank)));
    char sent = static_cast<char>(rank), received = 0;
    results[rank].links[0].socket.send_all(&sent, 1, in_seconds(10));
    middle.socket.receive_all(&received, 1, in_seconds(10));
    EXPECT_EQ(received, sent);
  }
}

class AtOnePort : public testing::Test {
 protected:
  ReservedPort held;
  const int port = held.number();
};

TEST(Rendezvous, AllRanksJoinAtTheMaster) {
  for (int size : {2, 3, 5}) {
    std::vector<RendezvousResult> results(static_cast<size_t>(size));
    ReservedPort held;
    int port = held.number();
    run_ranks(size, [&](int rank) {
      results[size_t(rank)] = join_at_master(launch_of(rank, size, port), info_of(rank), 60);
    });
    for (const RendezvousResult& result : results) {
      ASSERT_EQ(result.ranks.size(), size_t(size));
      for (int rank = 0; rank < size; ++rank) {
        EXPECT_EQ(to_string(result.ranks[size_t(rank)]), to_string(info_of(rank)));
        EXPECT_EQ(result.ranks[size_t(rank)].cores, info_of(rank).cores);
      }
    }
    expect_star_works(results);
    // Each data socket leads to the rank of its index.
    run_ranks(size, [&](int rank) {
      auto group = socket_group(rank, std::move(results[size_t(rank)].data));
      auto numbers = all_gather(*group, std::to_string(rank));
      for (int r = 0; r < size; ++r) EXPECT_EQ(numbers[size_t(r)], std::to_string(r));
    });
  }
}

TEST(Rendezvous, OverAGroupOnlyTheStarIsMade) {
  auto groups = threads_groups(3);
  std::vector<RendezvousResult> results(3);
  run_ranks(3, [&](int rank) {
    results[size_t(rank)] = join_over_group(*groups[size_t(rank)], info_of(rank), 60);
  });
  for (const RendezvousResult& result : results) {
    EXPECT_EQ(result.ranks[2].cores, info_of(2).cores);
    EXPECT_TRUE(result.data.empty());
  }
  expect_star_works(results);
}

TEST_F(AtOnePort, MissingRanksAreNamedToAllThatJoined) {
  Ends ends(2);
  run_ranks(2, [&](int rank) { ends.meet(rank, launch_of(rank, 4, port), info_of(rank), 0.5); });
  auto expected = fmt::format(
      "ranks 2, 3 of 4 did not connect to 127.0.0.1:{} within 0.5 s: are they started, and can "
      "they reach it?",
      port);
  EXPECT_EQ(ends.texts, std::vector<std::string>(2, expected));
  EXPECT_EQ(ends.categories, std::vector<Category>(2, Category::collective));
}

TEST_F(AtOnePort, AMissingMasterIsNamed) {
  auto address =
      fmt::format("rank 1 (host host1, pid 101): no answer from rank 0 at 127.0.0.1:{}", port);
  EXPECT_THAT([&] { join_at_master(launch_of(1, 2, port), info_of(1), 0.2); },
              ThrowsMessage<Error>(AllOf(HasSubstr(address), HasSubstr("within 0.2 s"))));
}

TEST_F(AtOnePort, TwoProcessesOfOneRankEndAll) {
  Ends ends(3);
  run_ranks(3, [&](int at) {
    RankInfo self{std::min(at, 1), "host" + std::to_string(at), 40 + at, {}};
    ends.meet(at, launch_of(self.rank, 4, port), self, 60);
  });
  for (int at = 0; at < 3; ++at) {
    EXPECT_THAT(ends.texts[size_t(at)],
                AllOf(HasSubstr("two processes have the same rank 1"),
                      HasSubstr("host host1, pid 41"), HasSubstr("host host2, pid 42")));
    EXPECT_EQ(ends.categories[size_t(at)], Category::config);
  }
}

TEST_F(AtOnePort, RanksThatCountDifferentlyEndAll) {
  Ends ends(2);
  run_ranks(2, [&](int rank) {
    ends.meet(rank, launch_of(rank, rank == 0 ? 3 : 2, port), info_of(rank), 60);
  });
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(ends.texts[size_t(rank)],
              "rank 1 (host host1, pid 101) counts 2 processes (WORLD_SIZE), rank 0 (host host0, "
              "pid 100) counts 3: start all with the same number");
    EXPECT_EQ(ends.categories[size_t(rank)], Category::config);
  }
}

// A rank whose connection broke joins again: rank 0 answers over the new one alone.
TEST_F(AtOnePort, ARankThatJoinsAgainReplacesItsConnection) {
  Ends ends(2);
  run_ranks(2, [&](int rank) {
    Launch launch = launch_of(rank, 3, port);
    if (rank == 0) return ends.meet(rank, launch, info_of(rank), 2.0);
    std::vector<Socket> connections;
    for (int time = 0; time < 3; ++time) {
      Socket& socket = connections.emplace_back(connect_to(loopback_address, port, soon()));
      Deadline end = soon();
      authenticate(socket, launch.secret, {ConnectRequest::Kind::join, 0, rank, 0}, end, end);
      PeerInfo peer;
      peer.info = info_of(rank);
      peer.size = launch.size;
      peer.port = 4711;
      peer.addresses = {loopback_address};
      send_frame(socket, {FrameKind::peer_info, to_json(peer)}, end);
    }
    Frame answer = receive_frame(connections.back(), soon());
    EXPECT_EQ(answer.kind, FrameKind::refusal);
    EXPECT_THAT(answer.text, HasSubstr("rank 2 of 3 did not connect"));
    connections.pop_back();
    for (Socket& former : connections)
      EXPECT_THROW(receive_frame(former, soon()), Error) << "closed, without a word";
  });
  EXPECT_THAT(ends.texts[0], HasSubstr("rank 2 of 3 did not connect"));
}

// The first half of rank 0's side, which needs no secret.
void challenge(Socket& caller) {
  EXPECT_EQ(receive_frame(caller, soon()).kind, FrameKind::call);
  send_frame(caller, {FrameKind::challenge, std::string(sizeof(Nonce), 'n')}, soon());
}

// Another program at rank 0's address challenges the rank and then says nothing. Its connection
// stays open until the rank has connected again.
TEST_F(AtOnePort, AFalseMasterThatFallsSilentIsAbandoned) {
  std::vector<RendezvousResult> results(2);
  run_ranks(2, [&](int rank) {
    if (rank == 0) {
      Listener listener(port);
      auto first = listener.accept(soon());
      ASSERT_TRUE(first);
      challenge(*first);
      EXPECT_TRUE(listener.accept(soon())) << "it still waits for the welcome";
    }
    results[size_t(rank)] = join_at_master(launch_of(rank, 2, port), info_of(rank), 120);
  });
  expect_star_works(results);
}

// Each kind a hundred times, before and while the ranks join; hundreds of connections stay open.
TEST_F(AtOnePort, UnknownPeersNeitherJoinNorEndTheRun) {
  std::vector<RendezvousResult> results(3);
  std::atomic<int> let_in = 0;
  std::latch visited(2);
  run_ranks(4, [&](int rank) {
    std::vector<Socket> open;
    auto visits = [&](int times) {
      for (const UnknownPeer& unknown : unknown_peers())
        for (int i = 0; i < times; ++i) let_in += unknown.visit(port, open);
    };
    // Rank 2 joins last, so that rank 0 waits until all unknown peers have connected.
    if (rank == 1 || rank == 3) {
      visits(50);
      visited.count_down();
    }
    if (rank == 2) visited.wait();
    if (rank == 3) return;
    results[size_t(rank)] = join_at_master(launch_of(rank, 3, port), info_of(rank), 120);
  });
  EXPECT_EQ(let_in, 0);
  for (RendezvousResult& result : results) {
    ASSERT_EQ(result.ranks.size(), 3u);
    for (int rank = 0; rank < 3; ++rank)
      EXPECT_EQ(to_string(result.ranks[size_t(rank)]), to_string(info_of(rank)));
  }
  expect_star_works(results);
}

// Threads share a process, and so a pid: the ranks differ in their secrets alone.
TEST_F(AtOnePort, ARankWithAnotherSecretLearnsIt) {
  Ends ends(2);
  run_ranks(2, [&](int rank) {
    Launch launch = launch_of(rank, 2, port);
    if (rank == 1) launch.secret = "the ranks of another test";
    ends.meet(rank, launch, info_of(rank), 1.0);
  });
  EXPECT_EQ(ends.categories[1], Category::config);
  EXPECT_EQ(ends.texts[1],
            fmt::format("rank 1 (host host1, pid 101): rank 0 at 127.0.0.1:{} has another secret: "
                        "set SPIRE_SECRET to the same text for all ranks",
                        port));
  EXPECT_EQ(ends.categories[0], Category::collective);
  EXPECT_THAT(ends.texts[0],
              AllOf(HasSubstr("rank 1 of 2 did not connect to 127.0.0.1:"),
                    HasSubstr("is it started, and can it reach it? (turned away connections: "),
                    HasSubstr("that did not know this run's secret (SPIRE_SECRET, the same")));
}

void deny(Socket& caller) try {
  challenge(caller);
  EXPECT_EQ(receive_frame(caller, soon()).kind, FrameKind::proof);
  send_frame(caller, {FrameKind::denied, ""}, soon());
} catch (const Error&) {  // its time was over
}

// A single denial may come from another program at rank 0's address.
TEST(Rendezvous, OnlyContinuedDenialsMeanAnotherSecret) {
  struct {
    const char* name;
    bool (*denies)(int time);
    Category category;
    std::string words;
  } cases[] = {
      {"once", [](int time) { return time == 0; }, Category::collective, "no answer from rank 0"},
      {"twice", [](int time) { return time < 2; }, Category::collective, "no answer from rank 0"},
      {"always", [](int) { return true; }, Category::config, "has another secret"},
      {"later", [](int time) { return time > 1; }, Category::config, "has another secret"},
      {"at times", [](int time) { return time % 2 == 0; }, Category::config, "has another secret"}};
  for (auto& each : cases) {
    ReservedPort held;
    int port = held.number();
    Ends ends(2);
    std::atomic<bool> ended = false;
    run_ranks(2, [&](int rank) {
      if (rank == 1) {
        ends.meet(rank, launch_of(rank, 2, port), info_of(rank), 1.5);
        ended = true;
        return;
      }
      Listener listener(port);
      for (int time = 0; !ended;) {
        auto caller =
            listener.accept(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
        if (caller && each.denies(time++)) deny(*caller);
      }
    });
    EXPECT_EQ(ends.categories[1], each.category) << each.name;
    EXPECT_THAT(ends.texts[1], HasSubstr(each.words)) << each.name;
  }
}

}  // namespace
}  // namespace spire

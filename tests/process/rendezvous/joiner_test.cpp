// A rank that joins where something else answers before rank 0, and messages that make no sense
// between two that know the secret.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include "engine/process/rendezvous/peer_mesh.h"
#include "engine/process/rendezvous/rendezvous.h"
#include "tests/base/message_of.h"
#include "tests/process/rendezvous/launches.h"

namespace spire {
namespace {

using testing::HasSubstr;

void send_text(Socket& socket, const std::string& bytes) {
  socket.send_all(bytes.data(), bytes.size(), soon());
}

// The header of a frame with the longest text there is, and one byte more.
std::string too_long() {
  std::string bytes = to_bytes({FrameKind::peer_table, "x"});
  bytes.replace(12, 4, bytes_of(max_frame_bytes + 1));
  return bytes;
}

PeerInfo peer_of(int rank, int size) {
  PeerInfo peer;
  peer.info = info_of(rank);
  peer.size = size;
  peer.port = 4711;
  peer.addresses = {loopback_address};
  return peer;
}

// What happens at rank 0's address before rank 0 is there. Each gets a new connection; it closes
// afterwards.
struct FalseMaster {
  const char* name;
  void (*meet)(Socket& caller);
};

const FalseMaster strangers[] = {
    {"it hangs up", [](Socket&) {}},
    {"another protocol", [](Socket& caller) { send_text(caller, "HTTP/1.1 400 Bad Request\r\n"); }},
    {"half a header", [](Socket& caller) { send_text(caller, "Spire"); }},
    {"a short challenge",
     [](Socket& caller) {
       send_frame(caller, {FrameKind::challenge, "n"}, soon());
     }},
    {"a welcome without a challenge",
     [](Socket& caller) {
       send_frame(caller, {FrameKind::welcome, std::string(sizeof(Proof), 'p')}, soon());
     }},
    {"a welcome without the secret",
     [](Socket& caller) {
       receive_frame(caller, soon());
       send_frame(caller, {FrameKind::challenge, std::string(sizeof(Nonce), 'n')}, soon());
       receive_frame(caller, soon());
       send_frame(caller, {FrameKind::welcome, std::string(sizeof(Proof), 'p')}, soon());
     }},
};

// It has welcomed the rank and read its PeerInfo, and ends before its answer is whole.
const FalseMaster dying[] = {
    {"no answer", [](Socket&) {}},
    {"half an answer",
     [](Socket& caller) {
       send_text(caller, to_bytes({FrameKind::peer_table, "[{}]"}).substr(0, 18));
     }},
    {"an answer that is too long", [](Socket& caller) { send_text(caller, too_long()); }},
    {"no frame", [](Socket& caller) { send_text(caller, std::string(64, '\xff')); }},
};

Acceptor acceptor_of(Listener listener, const Launch& launch) {
  return {std::move(listener), {launch.secret, 7, 0}, {}};
}

TEST(Joiner, TriesAgainUntilRankZeroAnswers) {
  ReservedPort held;
  int port = held.number();
  std::vector<RendezvousResult> results(2);
  run_ranks(2, [&](int rank) {
    Launch launch = launch_of(rank, 2, port);
    if (rank == 0) {
      {
        Listener listener(port);
        for (const FalseMaster& stranger : strangers) {
          auto caller = listener.accept(soon());
          ASSERT_TRUE(caller) << stranger.name;
          stranger.meet(*caller);
        }
        Acceptor acceptor = acceptor_of(std::move(listener), launch);
        for (const FalseMaster& former : dying) {
          auto caller = acceptor.next(soon());
          ASSERT_TRUE(caller) << former.name;
          EXPECT_EQ(read_peer_info(caller->peer_info)->info.rank, 1) << former.name;
          former.meet(caller->socket);
        }
      }
    }
    results[size_t(rank)] = join_at_master(launch, info_of(rank), 120);
  });
  for (const RendezvousResult& result : results) {
    ASSERT_EQ(result.ranks.size(), 2u);
    EXPECT_EQ(to_string(result.ranks[1]), to_string(info_of(1)));
  }
}

// Silence for steps of 0.5, 1, 2, ... seconds: within 1.5 s a rank connects at most twice, on a
// busy machine once. Nobody accepts, so the connections wait in the listener's queue.
TEST(Joiner, WaitsLongerInEachAttempt) {
  Listener silent(0);
  std::string message = message_of(Category::collective, [&] {
    join_at_master(launch_of(1, 2, silent.port()), info_of(1), 1.5);
  });
  EXPECT_THAT(message, HasSubstr("the other end does not answer"));
  int connections = 0;
  while (silent.accept(std::chrono::steady_clock::now())) ++connections;
  EXPECT_GE(connections, 1);
  EXPECT_LE(connections, 2);
}

// A whole frame is rank 0's answer: another attempt would not go better.
TEST(Joiner, EndsWithAnAnswerThatMakesNoSense) {
  std::string other_size = to_json(std::vector{peer_of(0, 3), peer_of(1, 3), peer_of(2, 3)});
  std::string other_ranks = to_json(std::vector{peer_of(1, 2), peer_of(0, 2)});
  const Frame answers[] = {
      {FrameKind::control, "{}"},
      {FrameKind::peer_info, to_json(peer_of(0, 2))},
      {FrameKind::peer_table, ""},
      {FrameKind::peer_table, "[{}, {}]"},
      {FrameKind::peer_table, other_size},
      {FrameKind::peer_table, other_ranks},
      {FrameKind::refusal, "no"},
      {FrameKind::refusal, "[2, \"no\"]"},
      {FrameKind::refusal, R"({"category": "config", "message": "no"})"},
      {FrameKind::refusal, R"({"category": 2, "message": 3})"},
  };
  for (const Frame& answer : answers) {
    Listener listener(0);
    Launch launch = launch_of(1, 2, listener.port());
    Acceptor acceptor = acceptor_of(std::move(listener), launch);
    std::string message;
    run_ranks(2, [&](int rank) {
      if (rank == 1) {
        message = message_of(Category::collective, [&] { join_at_master(launch, info_of(1), 60); });
        return;
      }
      auto caller = acceptor.next(soon());
      ASSERT_TRUE(caller);
      send_frame(caller->socket, answer, soon());
    });
    EXPECT_THAT(message, HasSubstr("the answer of rank 0 at 127.0.0.1:")) << answer.text;
    EXPECT_THAT(message, HasSubstr("cannot be understood; start all ranks with one build"));
  }
}

// Rank 0 closes the connection of a rank whose PeerInfo makes no sense, and waits for another.
TEST(Joiner, MayJoinAfterAPeerInfoThatMakesNoSense) {
  const std::string infos[] = {
      std::string(64, '\xff'),
      too_long(),
      to_bytes({FrameKind::peer_table, "[]"}),
      to_bytes({FrameKind::peer_info, ""}),
      to_bytes({FrameKind::peer_info, "{\"rank\": 1}"}),
      to_bytes({FrameKind::peer_info, to_json(peer_of(0, 2))}),
      to_bytes({FrameKind::peer_info, std::string(size_t{1} << 21, ' ')}).substr(0, 4096),
  };
  ReservedPort held;
  int port = held.number();
  std::vector<RendezvousResult> results(2);
  run_ranks(2, [&](int rank) {
    Launch launch = launch_of(rank, 2, port);
    for (const std::string& info : infos) {
      if (rank == 0) break;
      Deadline end = soon();
      Socket socket = connect_to(loopback_address, port, end);
      authenticate(socket, launch.secret, {ConnectRequest::Kind::join, 0, rank, 0}, end, end);
      send_text(socket, info);
      EXPECT_THROW(receive_frame(socket, end), Error) << "closed, without a word";
    }
    results[size_t(rank)] = join_at_master(launch, info_of(rank), 120);
  });
  EXPECT_EQ(results[0].ranks.size(), 2u);
  EXPECT_EQ(results[1].ranks.size(), 2u);
}

}  // namespace
}  // namespace spire

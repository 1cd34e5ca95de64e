#include "engine/process/rendezvous/handshake.h"

#include <chrono>
#include <sys/socket.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include "engine/process/rendezvous/acceptor.h"
#include "tests/base/message_of.h"
#include "tests/process/file_limit.h"
#include "tests/process/rendezvous/stranger.h"

namespace spire {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const std::string kSecret = "both ends know it";

Deadline soon() {
  return Clock::now() + std::chrono::seconds(60);
}

// Advances until something other than "not yet" comes.
Introduction::State answer(Socket& socket, const Badge& badge) {
  Introduction introduction;
  for (;;) {
    auto state = introduction.advance(socket, badge);
    if (state != Introduction::State::incomplete) return state;
    std::this_thread::yield();
  }
}

// What both sides end with when a caller with this secret and route comes to this badge.
std::pair<std::string, Introduction::State> meet(const std::string& secret, const Route& route,
                                                 const Badge& badge) {
  auto [caller, answerer] = socket_pair();
  std::string end = "welcome";
  Introduction::State state{};
  run_ranks(2, [&, from = &caller, to = &answerer](int rank) {
    if (rank == 1) {
      state = answer(*to, badge);
      *to = Socket();
      return;
    }
    try {
      introduce(*from, secret, route, soon(), soon());
    } catch (const Denied&) {
      end = "denied";
    } catch (const Error&) {
      end = "no answer";
    }
  });
  return {end, state};
}

TEST(Handshake, OneSecretOneRunOneRankMeet) {
  using State = Introduction::State;
  using Ends = std::pair<std::string, State>;
  const Badge badge{kSecret, 77, 2};
  const Route peer{Route::Kind::peer, 77, 5, 2}, join{Route::Kind::join, 0, 5, 2};
  EXPECT_EQ(meet(kSecret, peer, badge), Ends("welcome", State::known));
  EXPECT_EQ(meet(kSecret, join, badge), Ends("welcome", State::known));
  EXPECT_EQ(meet("", peer, {"", 77, 2}), Ends("welcome", State::known)) << "without any secret";
  for (const std::string& other :
       {kSecret + " ", kSecret.substr(1), std::string(), kSecret + kSecret})
    EXPECT_EQ(meet(other, peer, badge), Ends("denied", State::denied)) << other;
  EXPECT_EQ(meet(kSecret, {Route::Kind::peer, 78, 5, 2}, badge), Ends("no answer", State::foreign));
  EXPECT_EQ(meet(kSecret, {Route::Kind::peer, 77, 5, 1}, badge), Ends("no answer", State::foreign));
}

// Whoever has heard one handshake cannot repeat it, to the same rank or to the caller.
TEST(Handshake, WhatWasHeardIsOfNoUseAgain) {
  auto [caller, wire_in] = socket_pair();
  auto [wire_out, answerer] = socket_pair();
  const Badge badge{kSecret, 7, 0};
  Frame call, challenge, proof, welcome;
  run_ranks(3, [&, from = &caller, in = &wire_in, out = &wire_out, to = &answerer](int rank) {
    if (rank == 0) introduce(*from, kSecret, {Route::Kind::peer, 7, 1, 0}, soon(), soon());
    if (rank == 1) {
      EXPECT_EQ(answer(*to, badge), Introduction::State::known);
    }
    if (rank == 2) {
      send_frame(*out, call = receive_frame(*in, soon()), soon());
      send_frame(*in, challenge = receive_frame(*out, soon()), soon());
      send_frame(*out, proof = receive_frame(*in, soon()), soon());
      send_frame(*in, welcome = receive_frame(*out, soon()), soon());
    }
  });
  for (const Frame* frame : {&call, &challenge, &proof, &welcome})
    EXPECT_THAT(frame->text, testing::Not(HasSubstr(kSecret)));

  // To the rank again: its nonce is another one.
  auto [replay, second] = socket_pair();
  send_frame(replay, call, soon());
  send_frame(replay, proof, soon());
  EXPECT_EQ(answer(second, badge), Introduction::State::denied);
  EXPECT_NE(receive_frame(replay, soon()).text, challenge.text);
  EXPECT_EQ(receive_frame(replay, soon()).kind, FrameKind::denied);

  // To a caller: its nonce is another one, too. And its own proof, sent back, is no welcome.
  for (const Frame& last : {welcome, Frame{FrameKind::welcome, proof.text.substr(24)}}) {
    auto [again, false_rank] = socket_pair();
    send_frame(false_rank, challenge, soon());
    send_frame(false_rank, last, soon());
    Socket& to_stranger = again;
    EXPECT_THROW(introduce(to_stranger, kSecret, {Route::Kind::peer, 7, 1, 0}, soon(), soon()),
                 Error);
  }
}

// Callers that are silent go when their time is over, or when too many wait; a rank gets in anyway.
TEST(Acceptor, KeepsNobodyWhoIsSilent) {
  Listener listener(0);
  int port = listener.port();
  Acceptor reception(std::move(listener), {kSecret, 7, 0}, {8, std::chrono::milliseconds(200)});
  std::vector<Socket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(kLoopback, port, soon()));
  EXPECT_FALSE(reception.next(Clock::now() + std::chrono::milliseconds(400)));
  for (Socket& socket : silent) EXPECT_THROW(receive_frame(socket, soon()), Error) << "closed";
  EXPECT_EQ(reception.turned_away(), " (turned away connections: 20 that said nothing)");

  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(kLoopback, port, soon()));
  run_ranks(2, [&](int rank) {
    if (rank == 1) {
      Socket socket = connect_to(kLoopback, port, soon());
      introduce(socket, kSecret, {Route::Kind::peer, 7, 1, 0}, soon(), soon());
      return;
    }
    auto visitor = reception.next(soon());
    ASSERT_TRUE(visitor);
    EXPECT_EQ(visitor->route.from, 1);
  });
}

// A door where something is always to be heard: one at which every accept() fails.
TEST(Acceptor, EndsAtItsDeadlineWhateverComes) {
  Listener listener(0);
  ASSERT_EQ(shutdown(listener.descriptor(), SHUT_RDWR), 0);
  Acceptor reception(std::move(listener), {kSecret, 7, 0}, {});
  EXPECT_FALSE(reception.next(Clock::now() + std::chrono::milliseconds(50)));
}

// Strangers that fill up what this process may open give way to a rank.
TEST(Acceptor, SilentCallersDoNotKeepTheLastDescriptors) {
  for (int free : {1, 2, 5}) {
    Listener listener(0);
    int port = listener.port();
    Acceptor reception(std::move(listener), {kSecret, 7, 0}, {});
    std::vector<Socket> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(connect_to(kLoopback, port, soon()));
    Socket rank = connect_to(kLoopback, port, soon());
    FileLimit limit(rank.descriptor() + 1 + free);
    run_ranks(2, [&](int side) {
      if (side == 1) return introduce(rank, kSecret, {Route::Kind::peer, 7, 1, 0}, soon(), soon());
      auto visitor = reception.next(soon());
      ASSERT_TRUE(visitor);
      EXPECT_EQ(visitor->route.from, 1);
    });
    EXPECT_THAT(reception.turned_away(), HasSubstr("that said nothing")) << free;
  }
}

TEST(Acceptor, WithoutRoomForOneConnectionSaysSo) {
  Listener listener(0);
  int port = listener.port();
  Acceptor reception(std::move(listener), {kSecret, 7, 0}, {});
  Socket caller = connect_to(kLoopback, port, soon());
  FileLimit limit(caller.descriptor());
  std::string message = message_of(Category::device, [&] { reception.next(soon()); });
  EXPECT_THAT(message, HasSubstr("(ulimit -n)"));
}

TEST(Acceptor, TellsStrangersNothing) {
  for (const Stranger& stranger : strangers()) {
    Listener listener(0);
    int port = listener.port();
    Acceptor reception(std::move(listener), {kSecret, 7, 0}, {8, std::chrono::milliseconds(100)});
    std::vector<Socket> open;
    bool let_in = false;
    std::optional<Acceptor::Visitor> visitor;
    run_ranks(2, [&](int rank) {
      if (rank == 1) let_in = stranger.visit(port, open);
      if (rank == 0) visitor = reception.next(Clock::now() + std::chrono::milliseconds(300));
    });
    EXPECT_FALSE(let_in) << stranger.name;
    EXPECT_FALSE(visitor) << stranger.name;
    EXPECT_THAT(reception.turned_away(), HasSubstr("turned away connections: 1 that"))
        << stranger.name;
  }
}

}  // namespace
}  // namespace spire

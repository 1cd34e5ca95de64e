#include "engine/process/rendezvous/handshake.h"

#include <chrono>
#include <optional>
#include <sys/socket.h>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include "engine/process/rendezvous/peer_mesh.h"
#include "tests/base/message_of.h"
#include "tests/process/file_limit.h"
#include "tests/process/rendezvous/launches.h"
#include "tests/process/rendezvous/unknown_peer.h"

namespace spire {
namespace {

using testing::HasSubstr;
using Clock = std::chrono::steady_clock;

const std::string test_secret = "both ends know it";

// Advances until something other than "not yet" comes.
HandshakeServer::State answer(Socket& socket, const Credentials& credentials) {
  HandshakeServer handshake;
  for (;;) {
    auto state = handshake.advance(socket, credentials);
    if (state != HandshakeServer::State::incomplete) return state;
    std::this_thread::yield();
  }
}

// Returns the ends of both sides when a client with this secret and request connects to a server.
std::pair<std::string, HandshakeServer::State> meet(const std::string& secret,
                                                    const ConnectRequest& route,
                                                    const Credentials& credentials) {
  auto [client, server] = socket_pair();
  std::string end = "welcome";
  HandshakeServer::State state{};
  run_ranks(2, [&, from = &client, to = &server](int rank) {
    if (rank == 1) {
      state = answer(*to, credentials);
      *to = Socket();
      return;
    }
    try {
      authenticate(*from, secret, route, soon(), soon());
      if (route.kind == ConnectRequest::Kind::join)
        send_frame(*from, {FrameKind::peer_info, "{}"}, soon());
    } catch (const Denied&) {
      end = "denied";
    } catch (const Error&) {
      end = "no answer";
    }
  });
  return {end, state};
}

TEST(Handshake, NeedsTheSameSecretRunAndRank) {
  using State = HandshakeServer::State;
  using Ends = std::pair<std::string, State>;
  const Credentials credentials{test_secret, 77, 2};
  const ConnectRequest peer{ConnectRequest::Kind::peer, 77, 5, 2},
      join{ConnectRequest::Kind::join, 0, 5, 2};
  EXPECT_EQ(meet(test_secret, peer, credentials), Ends("welcome", State::accepted));
  EXPECT_EQ(meet(test_secret, join, credentials), Ends("welcome", State::accepted));
  EXPECT_EQ(meet("", peer, {"", 77, 2}), Ends("welcome", State::accepted)) << "without any secret";
  for (const std::string& other :
       {test_secret + " ", test_secret.substr(1), std::string(), test_secret + test_secret})
    EXPECT_EQ(meet(other, peer, credentials), Ends("denied", State::denied)) << other;
  EXPECT_EQ(meet(test_secret, {ConnectRequest::Kind::peer, 78, 5, 2}, credentials),
            Ends("no answer", State::foreign));
  EXPECT_EQ(meet(test_secret, {ConnectRequest::Kind::peer, 77, 5, 1}, credentials),
            Ends("no answer", State::foreign));
}

// Neither to the same rank nor to the client.
TEST(Handshake, ARecordingCannotBeReplayed) {
  auto [client, wire_in] = socket_pair();
  auto [wire_out, server] = socket_pair();
  const Credentials credentials{test_secret, 7, 0};
  Frame call, challenge, proof, welcome;
  run_ranks(3, [&, from = &client, in = &wire_in, out = &wire_out, to = &server](int rank) {
    if (rank == 0)
      authenticate(*from, test_secret, {ConnectRequest::Kind::peer, 7, 1, 0}, soon(), soon());
    if (rank == 1) {
      EXPECT_EQ(answer(*to, credentials), HandshakeServer::State::accepted);
    }
    if (rank == 2) {
      send_frame(*out, call = receive_frame(*in, soon()), soon());
      send_frame(*in, challenge = receive_frame(*out, soon()), soon());
      send_frame(*out, proof = receive_frame(*in, soon()), soon());
      send_frame(*in, welcome = receive_frame(*out, soon()), soon());
    }
  });
  for (const Frame* frame : {&call, &challenge, &proof, &welcome})
    EXPECT_THAT(frame->text, testing::Not(HasSubstr(test_secret)));

  // To the rank again: its nonce is another one.
  auto [replay, second] = socket_pair();
  send_frame(replay, call, soon());
  send_frame(replay, proof, soon());
  EXPECT_EQ(answer(second, credentials), HandshakeServer::State::denied);
  EXPECT_NE(receive_frame(replay, soon()).text, challenge.text);
  EXPECT_EQ(receive_frame(replay, soon()).kind, FrameKind::denied);

  // To a client: its nonce is another one, too. And its own proof, sent back, is no welcome.
  for (const Frame& last : {welcome, Frame{FrameKind::welcome, proof.text.substr(24)}}) {
    auto [again, false_rank] = socket_pair();
    send_frame(false_rank, challenge, soon());
    send_frame(false_rank, last, soon());
    Socket& to_unknown = again;
    EXPECT_THROW(authenticate(to_unknown, test_secret, {ConnectRequest::Kind::peer, 7, 1, 0},
                              soon(), soon()),
                 Error);
  }
}

// Silent connections are dropped when their time is over, or when too many wait; a rank is
// accepted.
TEST(Acceptor, KeepsNoSilentConnection) {
  Listener listener(0);
  int port = listener.port();
  Acceptor acceptor(std::move(listener), {test_secret, 7, 0}, {8, std::chrono::milliseconds(200)});
  std::vector<Socket> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(loopback_address, port, soon()));
  EXPECT_FALSE(acceptor.next(Clock::now() + std::chrono::milliseconds(400)));
  for (Socket& socket : silent) EXPECT_THROW(receive_frame(socket, soon()), Error) << "closed";
  EXPECT_EQ(acceptor.turned_away(), " (turned away connections: 20 that said nothing)");

  for (int i = 0; i < 20; ++i) silent.push_back(connect_to(loopback_address, port, soon()));
  run_ranks(2, [&](int rank) {
    if (rank == 1) {
      Socket socket = connect_to(loopback_address, port, soon());
      authenticate(socket, test_secret, {ConnectRequest::Kind::peer, 7, 1, 0}, soon(), soon());
      return;
    }
    auto connection = acceptor.next(soon());
    ASSERT_TRUE(connection);
    EXPECT_EQ(connection->request.from, 1);
  });
}

// A listener that is always readable, and whose accept() always fails.
TEST(Acceptor, EndsAtItsDeadline) {
  Listener listener(0);
  ASSERT_EQ(shutdown(listener.descriptor(), SHUT_RDWR), 0);
  Acceptor acceptor(std::move(listener), {test_secret, 7, 0}, {});
  EXPECT_FALSE(acceptor.next(Clock::now() + std::chrono::milliseconds(50)));
}

// Unknown peers that take all descriptors of this process are dropped for a rank.
TEST(Acceptor, SilentPeersDoNotKeepTheLastDescriptors) {
  for (int free : {1, 2, 5}) {
    Listener listener(0);
    int port = listener.port();
    Acceptor acceptor(std::move(listener), {test_secret, 7, 0}, {});
    std::vector<Socket> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(connect_to(loopback_address, port, soon()));
    Socket rank = connect_to(loopback_address, port, soon());
    std::optional<FileLimit> limit(std::in_place, rank.descriptor() + 1 + free);
    run_ranks(2, [&](int side) {
      if (side == 1)
        return authenticate(rank, test_secret, {ConnectRequest::Kind::peer, 7, 1, 0}, soon(),
                            soon());
      auto connection = acceptor.next(soon());
      ASSERT_TRUE(connection);
      EXPECT_EQ(connection->request.from, 1);
    });
    limit.reset();  // UndefinedBehaviorSanitizer checks matchers by a pipe
    EXPECT_THAT(acceptor.turned_away(), HasSubstr("that said nothing")) << free;
  }
}

TEST(Acceptor, WithoutRoomForOneConnectionSaysSo) {
  Listener listener(0);
  int port = listener.port();
  Acceptor acceptor(std::move(listener), {test_secret, 7, 0}, {});
  Socket caller = connect_to(loopback_address, port, soon());
  std::string message = message_of(Category::device, [&] {
    FileLimit limit(caller.descriptor());
    acceptor.next(soon());
  });
  EXPECT_THAT(message, HasSubstr("(ulimit -n)"));
}

TEST(Acceptor, TellsUnknownPeersNothing) {
  for (const UnknownPeer& unknown : unknown_peers()) {
    Listener listener(0);
    int port = listener.port();
    Acceptor acceptor(std::move(listener), {test_secret, 7, 0},
                      {8, std::chrono::milliseconds(100)});
    std::vector<Socket> open;
    bool let_in = false;
    std::optional<Acceptor::Connection> connection;
    run_ranks(2, [&](int rank) {
      if (rank == 1) let_in = unknown.visit(port, open);
      if (rank == 0) connection = acceptor.next(Clock::now() + std::chrono::milliseconds(300));
    });
    EXPECT_FALSE(let_in) << unknown.name;
    EXPECT_FALSE(connection) << unknown.name;
    EXPECT_THAT(acceptor.turned_away(), HasSubstr("turned away connections: 1 that"))
        << unknown.name;
  }
}

}  // namespace
}  // namespace spire

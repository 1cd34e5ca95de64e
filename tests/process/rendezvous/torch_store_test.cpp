#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tests/process/ranks.h>

#include <spire/error.h>

#include "engine/process/rendezvous/master_endpoint.h"
#include "engine/process/rendezvous/rendezvous.h"
#include "tests/process/rendezvous/launches.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using namespace std::string_literals;

// Replaces the store of torchrun's agent, with the same bytes for the queries that Spire sends.
class StoreServer {
 public:
  StoreServer() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  int port() const { return listener_.port(); }
  // Ends the server and returns all that it has received.
  std::string finish() {
    thread_.request_stop();
    thread_.join();
    return received_;
  }

 private:
  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      auto tick = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
      if (auto socket = listener_.accept(tick)) serve(*socket);
    }
  }
  std::string take(Socket& socket, size_t bytes) {
    std::string text(bytes, '\0');
    socket.receive_all(text.data(), bytes, soon());
    received_ += text;
    return text;
  }
  uint64_t take_number(Socket& socket) {
    std::string bytes = take(socket, 8);
    uint64_t number;
    std::memcpy(&number, bytes.data(), 8);
    return number;
  }
  std::string take_text(Socket& socket) { return take(socket, take_number(socket)); }

  // Serves one client until it closes its connection.
  void serve(Socket& socket) try {
    EXPECT_EQ(take(socket, 5), "\x00\xCE\xF7\x85\x3C"s);
    for (;;) {
      switch (take(socket, 1)[0]) {
        case 1: {
          std::string key = take_text(socket);
          values_[key] = take_text(socket);
          break;
        }
        case 5: {
          EXPECT_EQ(take_number(socket), 1u);
          char missing = values_.contains(take_text(socket)) ? 0 : 1;
          socket.send_all(&missing, 1, soon());
          break;
        }
        case 3: {
          const std::string& value = values_.at(take_text(socket));
          uint64_t length = value.size();
          socket.send_all(&length, 8, soon());
          socket.send_all(value.data(), value.size(), soon());
          break;
        }
        default:
          ADD_FAILURE() << "a query that no store knows";
          return;
      }
    }
  } catch (const Error&) {  // the client has gone
  }

  Listener listener_{0};
  std::map<std::string, std::string> values_;
  std::string received_;
  std::jthread thread_;
};

// The bytes that a client of PyTorch 2.15 sends for check(["key"]), set("key", "some text") and
// get("key"), as recorded from one, but for its ping and for its wait before it gets.
TEST(TorchStore, SpeaksAsPyTorchDoes) {
  StoreServer server;
  {
    TorchStore store(loopback_address, server.port(), soon());
    EXPECT_FALSE(store.get("/key", soon()));
    store.set("/key", "some text", soon());
    EXPECT_EQ(store.get("/key", soon()), "some text");
  }
  {
    TorchStore other(loopback_address, server.port(), soon());
    EXPECT_EQ(other.get("/key", soon()), "some text") << "once the first has gone";
  }
  std::string received = server.finish();
  const std::string key = "\x04\0\0\0\0\0\0\0/key"s, one = "\x01\0\0\0\0\0\0\0"s;
  EXPECT_THAT(received, testing::StartsWith("\0\xCE\xF7\x85\x3C"s + "\x05"s + one + key + "\x01"s +
                                            key + "\x09\0\0\0\0\0\0\0some text"s + "\x05"s + one +
                                            key + "\x03"s + key));
}

TEST(TorchStore, AnotherProgramIsAnError) {
  Listener listener(0);
  std::optional<Socket> socket;  // open until the store has read the answer
  run_ranks(2, [&](int rank) {
    if (rank == 1) {
      socket = listener.accept(soon());
      socket->send_all("HTTP/1.1 400", 12, soon());
      return;
    }
    TorchStore store(loopback_address, listener.port(), soon());
    EXPECT_THAT([&] { store.get("/key", soon()); },
                ThrowsMessage<Error>(HasSubstr("no store of PyTorch")));
  });
}

// All ranks join, by torchrun's store. before: what a rank does first.
void expect_join(
    const StoreServer& server, int size, const std::string& secret = "",
    const std::function<void(int rank)>& before = [](int) {}) {
  std::vector<RendezvousResult> results(static_cast<size_t>(size));
  run_ranks(size, [&](int rank) {
    before(rank);
    Launch launch = launch_of(rank, size, server.port());
    launch.store_key = "/spire/run/0";
    launch.one_host = true;
    launch.secret = secret;
    results[size_t(rank)] = join_at_master(launch, {rank, "host", 100 + rank, {}}, 60);
  });
  for (const RendezvousResult& result : results) EXPECT_EQ(result.ranks.size(), size_t(size));
}

// torchrun's agent has the port that rank 0 would listen on.
TEST(Rendezvous, RanksJoinThroughTorchrunsStore) {
  StoreServer server;
  expect_join(server, 3);
}

// After a restart the store still leads to the rank 0 that has ended, until the new one comes.
TEST(Rendezvous, AnEndpointThatIsOutOfDateIsLookedUpAgain) {
  StoreServer server;
  int gone = Listener(0).port();
  Listener silent(0);  // another program has the port by now
  for (int port : {gone, silent.port()}) {
    TorchStore(loopback_address, server.port(), soon())
        .set("/spire/run/0", to_json({{loopback_address}, port, "of-an-attempt-that-ended"}),
             soon());
    std::optional<Socket> asked;
    expect_join(server, 2, "", [&](int rank) {
      // Rank 1 has tried that address first, and has a connection to the silent one.
      if (rank == 0 && port != gone) asked = silent.accept(soon());
    });
  }
}

TEST(Rendezvous, ASecretOfTheEnvironmentIsNotPutIntoTheStore) {
  StoreServer server;
  expect_join(server, 2, "it stays with the ranks");
  auto text = TorchStore(loopback_address, server.port(), soon()).get("/spire/run/0", soon());
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, testing::Not(HasSubstr("stays")));
  EXPECT_EQ(read_endpoint(*text)->secret, "");
}

}  // namespace
}  // namespace spire

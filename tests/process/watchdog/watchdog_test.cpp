// The watchdog with its thread and its sockets. Ranks are Watchdogs joined by socket pairs, or bare
// sockets that this test writes to and reads from. Deadlines of waits are long enough for a loaded
// machine; limits are short only on the rank whose failure a test provokes.
#include "engine/process/watchdog/watchdog.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/base/fail.h"
#include "engine/process/watchdog/control_channel.h"
#include "tests/process/watchdog/failures.h"

namespace spire {
namespace {

using Kind = ControlMessage::Kind;
using std::chrono::seconds;
using ::testing::HasSubstr;

const TimeoutConfig long_time{.start = 600, .step = 600, .checkpoint = 600};
const TimeoutConfig short_time{.start = 0.2, .step = 0.2, .checkpoint = 0.2};
constexpr auto test_deadline = seconds(60);

// A process of the run.
class Member {
 public:
  Member(int rank, std::vector<ControlLink> links, double grace_seconds = 600)
      : status({"cpu:0", "cpu:1"}) {
    Watchdog::Options options;
    options.rank = rank;
    options.self = name_of(rank);
    options.grace_seconds = grace_seconds;
    options.release = [this] {
      if (releases++ == 0) released.set_value();
    };
    options.on_exit_timeout = [this](const Failure& failure) { hung.set_value(failure); };
    watchdog = std::make_unique<Watchdog>(std::move(options), std::move(links));
  }

  // Returns the decision, once the watchdog has released the rank.
  Failure run_failure() {
    auto done = released.get_future();
    if (done.wait_for(test_deadline) != std::future_status::ready)
      return named(-1, "no failure in time");
    return *watchdog->failure();
  }

  ThreadStatus status;
  std::atomic<int> releases{0};
  std::promise<void> released;
  std::promise<Failure> hung;
  std::unique_ptr<Watchdog> watchdog;
};

ControlLink link_to(int rank, Socket socket) {
  return {rank, name_of(rank), std::move(socket)};
}

using SocketMaker = std::pair<Socket, Socket> (*)();

std::pair<Socket, Socket> tcp_pair() {
  auto deadline = std::chrono::steady_clock::now() + test_deadline;
  Listener listener(0);
  Socket connected = connect_to("127.0.0.1", listener.port(), deadline);
  return {std::move(*listener.accept(deadline)), std::move(connected)};
}

std::vector<std::unique_ptr<Member>> members(int count, SocketMaker make_pair = socket_pair) {
  std::vector<std::unique_ptr<Member>> result;
  std::vector<ControlLink> star;
  for (int rank = 1; rank < count; ++rank) {
    auto [zero, other] = make_pair();
    star.push_back(link_to(rank, std::move(zero)));
    std::vector<ControlLink> up;
    up.push_back(link_to(0, std::move(other)));
    result.push_back(std::make_unique<Member>(rank, std::move(up)));
  }
  result.insert(result.begin(), std::make_unique<Member>(0, std::move(star)));
  return result;
}

// Returns rank `rank` as a Watchdog, and the bare sockets that are its peers.
std::pair<std::unique_ptr<Member>, std::vector<Socket>> member_among_sockets(
    int rank, const std::vector<int>& peers) {
  std::vector<ControlLink> links;
  std::vector<Socket> sockets;
  for (int peer : peers) {
    auto [mine, theirs] = socket_pair();
    links.push_back(link_to(peer, std::move(mine)));
    sockets.push_back(std::move(theirs));
  }
  return {std::make_unique<Member>(rank, std::move(links)), std::move(sockets)};
}

Frame frame_of(const ControlMessage& message) {
  return {FrameKind::control, to_json(message)};
}

void send_to(Socket& socket, const ControlMessage& message) {
  send_frame(socket, frame_of(message), std::chrono::steady_clock::now() + test_deadline);
}

ControlMessage message_of(Kind kind, const Failure& failure = {}) {
  ControlMessage message;
  message.kind = kind;
  message.failure = failure;
  return message;
}

// Returns the next message that is not a heartbeat; throws at the end of the connection.
ControlMessage next_word(Socket& socket) {
  auto deadline = std::chrono::steady_clock::now() + test_deadline;
  for (;;) {
    auto message = read_control_message(receive_frame(socket, deadline).text);
    if (message.kind != Kind::heartbeat) return message;
  }
}

TEST(Watchdog, AStallIsNamedOnEveryRank) {
  auto run = members(3);
  for (int rank : {0, 1, 2}) {
    Member& member = *run[static_cast<size_t>(rank)];
    member.status.begin_step(37);
    member.status.enter(0, Phase::waiting);
    member.status.enter(1, rank == 1 ? Phase::bucket : Phase::waiting, 4);
    member.watchdog->watch(&member.status, rank == 1 ? short_time : long_time);
  }
  for (auto& member : run) {
    Failure decided = member->run_failure();
    EXPECT_THAT(decided.text,
                HasSubstr(name_of(1) + ", cpu:1: no progress in bucket 4 of step 37 for "));
    EXPECT_EQ(decided.rank, 1);
    EXPECT_EQ(decided.category, Category::collective);
    EXPECT_THAT(decided.table, HasSubstr(name_of(1) + "  cpu:1  bucket 4 of step 37"));
    EXPECT_EQ(member->releases, 1);
  }
}

TEST(Watchdog, ADeadRankIsNamedWithItsLastPosition) {
  auto [zero, sockets] = member_among_sockets(0, {1, 2});
  ControlMessage heartbeat;
  heartbeat.rows = {{"cpu:0", Phase::backward, 0, 37, 1.5}};
  send_to(sockets[1], heartbeat);
  sockets[1] = Socket();
  Failure decided = zero->run_failure();
  EXPECT_EQ(decided.text,
            name_of(2) +
                " ended without an error message, so it was probably killed (see its log, or dmesg "
                "on its host); last seen at step 37: cpu:0 in backward");
  EXPECT_EQ(decided.rank, 2);
  EXPECT_EQ(next_word(sockets[0]).failure.text, decided.text);
}

TEST(Watchdog, ASilentRankIsNamedOnEitherSideOfALink) {
  for (int rank : {0, 1}) {
    auto [member, sockets] = member_among_sockets(rank, {1 - rank});
    member->watchdog->watch(nullptr, short_time);
    EXPECT_THAT(member->run_failure().text,
                HasSubstr(name_of(1 - rank) + " has sent no sign of life for "));
  }
}

TEST(Watchdog, FailReturnsTheSameFailureOnEveryRank) {
  auto run = members(4);
  std::vector<std::future<Failure>> decisions;
  for (int rank : {0, 1, 2, 3})
    decisions.push_back(std::async(std::launch::async, [&run, rank] {
      return run[static_cast<size_t>(rank)]->watchdog->fail(
          named(rank, name_of(rank) + " is first"));
    }));
  std::string first = decisions[0].get().text;
  for (int rank : {1, 2, 3}) EXPECT_EQ(decisions[static_cast<size_t>(rank)].get().text, first);
  for (auto& member : run) EXPECT_EQ(member->watchdog->failure()->text, first);
}

// Rank 0 may end as soon as fail() returns: by then the others have its decision, although TCP
// drops bytes on their way when a connection is closed with unread ones, such as heartbeats.
TEST(Watchdog, TheDecisionOutlivesRankZero) {
  for (int round = 0; round < 20; ++round) {
    auto run = members(3, tcp_pair);
    for (auto& member : run)
      member->watchdog->watch(&member->status, {.start = 600, .step = 600, .checkpoint = 0.1});
    run[0]->watchdog->fail(named(0, "rank 0: bad file"));
    run[0].reset();
    for (size_t rank : {1, 2}) EXPECT_EQ(run[rank]->run_failure().text, "rank 0: bad file");
  }
}

// A launcher kills the rest as soon as one process ends: rank 0, which prints the cause, ends
// first.
TEST(Watchdog, AfterAFailureTheOtherRanksEndAfterRankZero) {
  auto run = members(2);
  run[1]->watchdog->fail(named(1, "rank 1: bad file"));
  auto rank_1 = std::async(std::launch::async, [&] { run[1].reset(); });
  EXPECT_EQ(rank_1.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  run[0].reset();
  EXPECT_EQ(rank_1.wait_for(test_deadline), std::future_status::ready);
}

TEST(Watchdog, AnExceptionOfTheHookEndsTheOtherRanks) {
  auto run = members(2);
  run[1]->status.set_hook([](const PhaseRow& row) {
    if (row.phase == Phase::update) throw std::runtime_error("no update today");
  });
  std::thread rank_1([&] {
    try {
      run[1]->status.enter(0, Phase::update);
    } catch (const std::runtime_error& error) {
      run[1]->watchdog->fail(named(1, error.what()));
    }
  });
  EXPECT_EQ(run[0]->run_failure().text, "no update today");
  rank_1.join();
}

TEST(Watchdog, AProcessThatHangsIsAbandonedOnceAfterItsGrace) {
  Member alone(0, {}, 0.05);
  alone.watchdog->fail(named(0, "bad file"));
  auto hung = alone.hung.get_future();
  ASSERT_EQ(hung.wait_for(test_deadline), std::future_status::ready);
  EXPECT_EQ(hung.get().text, "bad file");
}

TEST(Watchdog, AProcessThatLeavesInItsGraceIsNotAbandoned) {
  Member alone(0, {}, 600);
  alone.watchdog->fail(named(0, "bad file"));
  auto began = std::chrono::steady_clock::now();
  alone.watchdog.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - began, test_deadline)
      << "the thread is joined at once";
  EXPECT_EQ(alone.hung.get_future().wait_for(seconds(0)), std::future_status::timeout);
}

TEST(Watchdog, AfterTheEndAFailureIsOnesOwn) {
  Member leaving(0, {});
  leaving.watchdog->leave();
  EXPECT_FALSE(leaving.watchdog->failure());
  EXPECT_EQ(leaving.watchdog->fail(named(0, "after the end", true)).text, "after the end");
}

TEST(Watchdog, AnUnwatchedThreadStatusIsNotRead) {
  Member alone(0, {});
  const TimeoutConfig limits{.start = 600, .step = 600, .checkpoint = 0.1};
  for (int round = 0; round < 200; ++round) {
    auto status = std::make_unique<ThreadStatus>(std::vector<std::string>{"cpu:0"});
    status->enter(0, Phase::forward);
    alone.watchdog->watch(status.get(), limits);
    if (round % 2) std::this_thread::yield();
    alone.watchdog->watch(nullptr, limits);
  }
  EXPECT_FALSE(alone.watchdog->failure());
}

TEST(Watchdog, AnotherProtocolEndsTheLink) {
  auto [zero, sockets] = member_among_sockets(0, {1});
  std::string greeting = "GET / HTTP/1.1\r\n\r\n";
  sockets[0].send_all(greeting.data(), greeting.size(),
                      std::chrono::steady_clock::now() + test_deadline);
  Failure decided = zero->run_failure();
  EXPECT_EQ(decided.text, name_of(1) + " sent a broken control message");
  EXPECT_EQ(decided.rank, 1);
}

// Heartbeats to that peer fill its connection; rank 0 still receives the messages of others.
TEST(Watchdog, APeerThatDoesNotReadDelaysNoOther) {
  auto [zero, sockets] = member_among_sockets(0, {1, 2});
  ThreadStatus wide(std::vector<std::string>(4000, std::string(200, 'x')));
  zero->watchdog->watch(&wide, {.start = 600, .step = 600, .checkpoint = 0.1});
  for (int i = 0; i < 3; ++i) send_to(sockets[1], {});
  send_to(sockets[1], message_of(Kind::failure, named(2, "rank 2: bad file")));
  EXPECT_EQ(zero->run_failure().text, "rank 2: bad file");
  EXPECT_EQ(zero->watchdog->fail(named(0, "later")).text, "rank 2: bad file");
}

}  // namespace
}  // namespace spire

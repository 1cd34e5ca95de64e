// Checks a run whose port unknown peers visit: they neither join nor end it, read nothing of it,
// and write nothing to its terminal.
#include <chrono>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/process/socket.h"
#include "tests/process/rendezvous/unknown_peer.h"
#include "tests/run/program/run_folder.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::Not;

Words rank_words(int rank, int port, const Words& words,
                 const std::string& secret = "two ranks of this test") {
  return Words{"RANK=" + std::to_string(rank),
               "WORLD_SIZE=2",
               "MASTER_ADDR=127.0.0.1",
               "MASTER_PORT=" + std::to_string(port),
               "SPIRE_SECRET=" + secret,
               "timeout",
               "--kill-after=5",
               "100",
               TRAINER_PROGRAM} +
         words;
}

// "0100007F:1F90": the addresses on which somebody listens at the port, as the system shows them.
std::vector<std::string> listeners(int port) {
  std::vector<std::string> found;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state;
    words >> number >> local >> remote >> state;
    if (state == "0A" && local.ends_with(fmt::format(":{:04X}", port)))
      found.push_back(local.substr(0, 8));
  }
  return found;
}

bool waits_at(int port) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (listeners(port).empty() && std::chrono::steady_clock::now() < end) usleep(2000);
  return !listeners(port).empty();
}

TEST(UnknownPeers, NeitherJoinNorEndARunNorWriteToItsTerminal) {
  RunFolder folder;
  Output alone = trainer(folder.run("alone", test_course + test_mlp));
  ASSERT_EQ(alone.code, 0) << alone.err;
  ReservedPort held;
  int port = held.number();
  Words words = folder.run("two", test_course + test_mlp);
  Program first("/usr/bin/env", rank_words(0, port, words));
  ASSERT_TRUE(waits_at(port)) << first.finish().err;
  EXPECT_EQ(listeners(port), std::vector<std::string>{"0100007F"}) << "loopback, and no other";

  std::vector<Socket> open;  // they stay while the run joins and trains
  for (int i = 0; i < 100; ++i) {
    for (const UnknownPeer& unknown : unknown_peers())
      ASSERT_FALSE(unknown.visit(port, open)) << unknown.name << ", visit " << i;
  }
  Program second("/usr/bin/env", rank_words(1, port, words));
  for (Program* program : {&first, &second}) {
    Output output = program->finish();
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out + output.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(output.out + output.err, Not(HasSubstr("owned")));
    if (program == &first) {
      EXPECT_EQ(printed_hash(output), printed_hash(alone));
    }
  }
  EXPECT_TRUE(listeners(port).empty());
}

// Nobody listens any more once the ranks have met.
TEST(UnknownPeers, FindNoPortWhileTheRunTrains) {
  RunFolder folder;
  ReservedPort held;
  int port = held.number();
  Words words =
      folder.run("two", test_course + test_mlp + Words{"steps=1000000", "log.every_steps=1"});
  Program first("/usr/bin/env", rank_words(0, port, words));
  Program second("/usr/bin/env", rank_words(1, port, words));
  ASSERT_TRUE(first.wait_for("step 1/"));
  EXPECT_TRUE(listeners(port).empty());
  auto now = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) EXPECT_THROW(connect_to(loopback_address, port, now), Error);
  first.signal(SIGTERM);
  EXPECT_EQ(first.finish().code, 75);
  EXPECT_EQ(second.finish().code, 75);
}

TEST(UnknownPeers, ARankWithAnotherSecretIsToldSo) {
  RunFolder folder;
  ReservedPort held;
  Words words = folder.run("two", test_course + test_mlp + Words{"timeouts.start=3"});
  Program first("/usr/bin/env", rank_words(0, held.number(), words));
  Program second("/usr/bin/env", rank_words(1, held.number(), words, "those of another run"));
  Output other = second.finish();
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.last_error_line(), HasSubstr("has another secret: set SPIRE_SECRET"));
  Output waited = first.finish();
  EXPECT_EQ(waited.code, 8);
  EXPECT_THAT(waited.last_error_line(), HasSubstr("rank 1 of 2 did not connect"));
  EXPECT_THAT(waited.last_error_line(), HasSubstr("did not know this run's secret"));
}

TEST(UnknownPeers, ANetworkNeedsASecret) {
  RunFolder folder;
  Words variables = {"-u", "SPIRE_SECRET", "RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=10.9.0.1"};
  Output output = Program("/usr/bin/env", variables + Words{TRAINER_PROGRAM} +
                                              folder.run("two", test_course + test_mlp))
                      .finish();
  EXPECT_EQ(output.code, 2);
  EXPECT_THAT(output.last_error_line(), HasSubstr("MASTER_ADDR=10.9.0.1, over a network"));
  EXPECT_THAT(output.last_error_line(), HasSubstr("set SPIRE_SECRET to the same random text"));
}

}  // namespace
}  // namespace spire

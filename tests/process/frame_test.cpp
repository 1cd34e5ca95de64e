#include "engine/process/frame.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/process/rendezvous/peer_info.h"

namespace spire {
namespace {

Deadline soon() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(60);
}

TEST(Frame, ArrivesWhole) {
  for (size_t length : {size_t{0}, size_t{1}, size_t{4096}, size_t{2'000'000}}) {
    auto [from, to] = socket_pair();
    std::string text(length, 'x');
    std::thread sender([&, socket = &from] {
      send_frame(*socket, {FrameKind::table, text}, soon());
      send_frame(*socket, {FrameKind::welcome, "next"}, soon());
    });
    Frame frame = receive_frame(to, soon());
    EXPECT_EQ(frame.kind, FrameKind::table);
    EXPECT_TRUE(frame.text == text);
    EXPECT_EQ(receive_frame(to, soon()).text, "next");
    sender.join();
  }
}

// Byte by byte; what follows the frame stays in the socket.
TEST(Frame, ReaderTakesOneFrameAndNoMore) {
  auto [from, to] = socket_pair();
  auto [wire_in, wire_out] = socket_pair();
  send_frame(wire_in, {FrameKind::hello, "some words"}, soon());
  constexpr size_t length = 16 + 10;
  char bytes[length];
  wire_out.receive_all(bytes, length, soon());
  FrameReader reader;
  for (size_t i = 0; i + 1 < length; ++i) {
    ASSERT_EQ(reader.read(to), FrameReader::State::incomplete);
    from.send_all(bytes + i, 1, soon());
  }
  ASSERT_EQ(reader.read(to), FrameReader::State::incomplete);
  from.send_all(bytes + length - 1, 1, soon());
  from.send_all("!", 1, soon());
  ASSERT_EQ(reader.read(to), FrameReader::State::whole);
  EXPECT_EQ(reader.frame().text, "some words");
  char next = 0;
  to.receive_all(&next, 1, soon());
  EXPECT_EQ(next, '!');
}

TEST(Frame, ReaderKnowsStrangersAndTheEnd) {
  auto [from, to] = socket_pair();
  from.send_all("SSH-2.0-OpenSSH_9", 17, soon());
  FrameReader reader;
  EXPECT_EQ(reader.read(to), FrameReader::State::foreign);

  auto [other, end] = socket_pair();
  other = Socket();
  FrameReader second;
  EXPECT_EQ(second.read(end), FrameReader::State::closed);
}

TEST(Frame, TooLongAFrameIsForeign) {
  auto [from, to] = socket_pair();
  send_frame(from, {FrameKind::hello, "x"}, soon());
  char header[16];
  to.receive_all(header, sizeof header, soon());
  char text;
  to.receive_all(&text, 1, soon());
  header[15] = '\x7f';  // the length's highest byte
  from.send_all(header, sizeof header, soon());
  EXPECT_THROW(receive_frame(to, soon()), Error);
}

TEST(PeerInfo, GoesThroughText) {
  PeerInfo hello;
  hello.info = {3, "node-7.cluster", 4711, {0, 1, 64}};
  hello.size = 5;
  hello.port = 29501;
  hello.run = 0xffff'ffff'ffff'fffeu;
  hello.addresses = {"10.0.0.7", "127.0.0.1"};
  auto read = read_hello(to_text(hello));
  ASSERT_TRUE(read);
  EXPECT_EQ(to_string(read->info), "rank 3 (host node-7.cluster, pid 4711)");
  EXPECT_EQ(read->info.cores, hello.info.cores);
  EXPECT_EQ(read->size, 5);
  EXPECT_EQ(read->port, 29501);
  EXPECT_EQ(read->run, hello.run);
  EXPECT_EQ(read->addresses, hello.addresses);

  hello.info.host = "a host\x1b[31m";  // a name that the system allows
  EXPECT_EQ(read_hello(to_text(hello))->info.host, "a?host?[31m");
  hello.addresses.clear();
  hello.info.cores.clear();
  read = read_hello(to_text(hello));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->addresses.empty());
  EXPECT_TRUE(read->info.cores.empty());
}

TEST(PeerInfo, NonsenseIsRefused) {
  EXPECT_FALSE(read_hello(""));
  EXPECT_FALSE(read_hello("one two three"));
  EXPECT_FALSE(read_hello("2 2 1 1 1 host - -"));   // rank 2 of 2
  EXPECT_FALSE(read_hello("-1 2 1 1 1 host - -"));  // rank -1
  EXPECT_FALSE(read_hello("1 2 1 1 1 host -"));     // no cores
  for (const char* host : {"\x1b[2J", "a\x07",
                           "\x9b"
                           "2J",
                           "h\xc3\xb6st"})
    EXPECT_FALSE(read_hello(fmt::format("1 2 1 1 1 {} - -", host)));
  EXPECT_FALSE(read_table("1 2 1 1 1 host - -\n"));  // rank 0 is missing
}

}  // namespace
}  // namespace spire

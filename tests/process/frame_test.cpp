#include "engine/process/frame.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include <spire/error.h>

#include "tests/process/rendezvous/launches.h"

namespace spire {
namespace {

TEST(Frame, ArrivesWhole) {
  for (size_t length : {size_t{0}, size_t{1}, size_t{4096}, size_t{2'000'000}}) {
    auto [from, to] = socket_pair();
    std::string text(length, 'x');
    std::thread sender([&, socket = &from] {
      send_frame(*socket, {FrameKind::peer_table, text}, soon());
      send_frame(*socket, {FrameKind::welcome, "next"}, soon());
    });
    Frame frame = receive_frame(to, soon());
    EXPECT_EQ(frame.kind, FrameKind::peer_table);
    EXPECT_TRUE(frame.text == text);
    EXPECT_EQ(receive_frame(to, soon()).text, "next");
    sender.join();
  }
}

// The bytes arrive one by one; those behind the frame stay in the socket.
TEST(Frame, ReaderTakesOneFrameAndNoMore) {
  auto [from, to] = socket_pair();
  auto [wire_in, wire_out] = socket_pair();
  send_frame(wire_in, {FrameKind::peer_info, "some words"}, soon());
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

TEST(Frame, ReaderKnowsOtherProtocolsAndTheEnd) {
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
  send_frame(from, {FrameKind::peer_info, "x"}, soon());
  char header[16];
  to.receive_all(header, sizeof header, soon());
  char text;
  to.receive_all(&text, 1, soon());
  header[15] = '\x7f';  // the length's highest byte
  from.send_all(header, sizeof header, soon());
  EXPECT_THROW(receive_frame(to, soon()), Error);
}

}  // namespace
}  // namespace spire

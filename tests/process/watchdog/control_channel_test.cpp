#include "engine/process/watchdog/control_channel.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

namespace spire {
namespace {

using Kind = ControlMessage::Kind;

ControlMessage abort_with(size_t table_bytes) {
  ControlMessage message;
  message.kind = Kind::abort;
  message.failure.text = "because";
  message.failure.table.assign(table_bytes, 'x');
  return message;
}

// Sends and receives in turns until that many messages have arrived.
std::vector<ControlMessage> pump(ControlChannel& from, ControlChannel& to, size_t count) {
  std::vector<ControlMessage> messages;
  for (int turn = 0; turn < 100000 && messages.size() < count && to.open(); ++turn) {
    from.flush();
    to.receive(messages);
  }
  return messages;
}

std::string frame_bytes(const ControlMessage& message) {
  return to_bytes({FrameKind::control, to_json(message)});
}

void send_raw(const Socket& socket, const std::string& bytes) {
  ASSERT_EQ(send(socket.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

TEST(ControlChannel, AMessageLargerThanTheSocketsBufferArrivesWhole) {
  auto [a, b] = socket_pair();
  ControlChannel from(std::move(a)), to(std::move(b));
  from.send(abort_with(max_control_bytes / 2));
  EXPECT_TRUE(from.backlog());
  auto messages = pump(from, to, 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].failure.table.size(), max_control_bytes / 2);
  EXPECT_FALSE(from.backlog());
}

TEST(ControlChannel, DropsOnlyHeartbeatsForAPeerThatDoesNotRead) {
  auto [a, b] = socket_pair();
  ControlChannel from(std::move(a)), to(std::move(b));
  from.send(abort_with(max_control_bytes / 2));
  ASSERT_TRUE(from.backlog());
  for (int i = 0; i < 100000; ++i) from.send({});
  from.send(abort_with(1));
  auto messages = pump(from, to, 2);
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1].failure.table, "x");
}

TEST(ControlChannel, GivesUpOnAPeerThatLeavesTooMuchUnread) {
  auto [a, b] = socket_pair();
  ControlChannel from(std::move(a));
  for (int i = 0; i < 10 && from.open(); ++i) from.send(abort_with(max_control_bytes / 2));
  EXPECT_FALSE(from.open());
  EXPECT_EQ(from.ending(), "no longer receives messages");
}

TEST(ControlChannel, MessagesBeforeTheEndAreDelivered) {
  auto [a, b] = socket_pair();
  ControlChannel to(std::move(b));
  std::string last = frame_bytes(abort_with(3));
  send_raw(a, last + last.substr(0, 9));
  a = Socket();
  std::vector<ControlMessage> messages;
  to.receive(messages);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_FALSE(to.open());
  EXPECT_EQ(to.ending(),
            "ended without an error message, so it was probably killed (see its log, or dmesg on "
            "its host)");
}

// The peer's last message is in this side's buffer when a send finds the connection closed.
TEST(ControlChannel, MessagesBeforeTheEndAreDeliveredAfterAFailedSend) {
  auto [a, b] = socket_pair();
  ControlChannel to(std::move(b));
  send_raw(a, frame_bytes(abort_with(3)));
  a = Socket();
  to.send({});
  to.send({});
  std::vector<ControlMessage> messages;
  to.receive(messages);
  EXPECT_EQ(messages.size(), 1u);
  EXPECT_FALSE(to.open());
  EXPECT_EQ(to.ending(),
            "ended without an error message, so it was probably killed (see its log, or dmesg on "
            "its host)");
}

TEST(ControlChannel, MessagesArriveHoweverTheBytesDo) {
  std::string stream;
  for (size_t bytes : {3, 5000, 0}) stream += frame_bytes(abort_with(bytes));
  for (size_t piece : {size_t{1}, size_t{3}, size_t{7}, stream.size()}) {
    auto [a, b] = socket_pair();
    ControlChannel to(std::move(b));
    std::vector<ControlMessage> messages;
    for (size_t at = 0; at < stream.size(); at += piece) {
      send_raw(a, stream.substr(at, piece));
      to.receive(messages);
    }
    ASSERT_EQ(messages.size(), 3u) << piece;
    EXPECT_EQ(messages[0].failure.table.size(), 3u);
    EXPECT_EQ(messages[1].failure.table.size(), 5000u);
    EXPECT_EQ(messages[2].failure.table.size(), 0u);
  }
}

// Cases: another protocol or kind of frame, a length beyond the limit, a text that is no message.
TEST(ControlChannel, ABrokenFrameEndsIt) {
  std::string too_long = to_bytes({FrameKind::control, std::string(max_control_bytes + 1, ' ')});
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), to_bytes({FrameKind::peer_info, to_json({})}),
        too_long.substr(0, 16), to_bytes({FrameKind::control, ""}),
        to_bytes({FrameKind::control, "{\"kind\":\"stop\"}"})}) {
    auto [a, b] = socket_pair();
    ControlChannel to(std::move(b));
    send_raw(a, frame_bytes(abort_with(3)) + bytes);
    std::vector<ControlMessage> messages;
    to.receive(messages);
    EXPECT_EQ(messages.size(), 1u);
    EXPECT_FALSE(to.open());
    EXPECT_EQ(to.ending(), "sent a broken control message");
    to.send({});  // to no one
  }
}

}  // namespace
}  // namespace spire

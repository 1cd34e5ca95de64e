#include "engine/process/watchdog/control_message.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

namespace spire {
namespace {

using Kind = ControlMessage::Kind;

ControlMessage a_beat() {
  ControlMessage message;
  message.period = 0.25;
  message.rows = {{"cpu:0", Phase::backward, 0, 37, 10.25}, {"exchange", Phase::bucket, -3, 38, 0}};
  return message;
}

ControlMessage a_verdict() {
  ControlMessage message;
  message.kind = Kind::verdict;
  message.failure = {Category::data, 3, "rank 3: bad file", true, "rank 0  cpu:0\nrank 1  cpu:1"};
  return message;
}

void expect_equal(const ControlMessage& a, const ControlMessage& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.period, b.period);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (size_t i = 0; i < a.rows.size(); ++i) {
    EXPECT_EQ(a.rows[i].thread, b.rows[i].thread);
    EXPECT_EQ(a.rows[i].phase, b.rows[i].phase);
    EXPECT_EQ(a.rows[i].detail, b.rows[i].detail);
    EXPECT_EQ(a.rows[i].step, b.rows[i].step);
    EXPECT_EQ(a.rows[i].seconds, b.rows[i].seconds);
  }
  EXPECT_EQ(a.failure.category, b.failure.category);
  EXPECT_EQ(a.failure.rank, b.failure.rank);
  EXPECT_EQ(a.failure.text, b.failure.text);
  EXPECT_EQ(a.failure.consequence, b.failure.consequence);
  EXPECT_EQ(a.failure.table, b.failure.table);
}

ControlMessage plain(Kind kind) {
  ControlMessage message;
  message.kind = kind;
  return message;
}

std::vector<ControlMessage> all_kinds() {
  ControlMessage failure = a_verdict();
  failure.kind = Kind::failure;
  return {a_beat(),          failure, a_verdict(), plain(Kind::bye), plain(Kind::farewell),
          plain(Kind::heard)};
}

TEST(ControlMessage, ComesBackAsItWasHoweverTheBytesArrive) {
  std::string stream;
  for (const ControlMessage& message : all_kinds()) stream += encode(message);
  for (size_t piece : {size_t{1}, size_t{3}, size_t{7}, stream.size()}) {
    FrameReader reader;
    std::vector<ControlMessage> read;
    for (size_t at = 0; at < stream.size(); at += piece) {
      reader.append(std::string_view(stream).substr(at, piece));
      while (auto message = reader.next()) read.push_back(*message);
    }
    auto sent = all_kinds();
    ASSERT_EQ(read.size(), sent.size());
    for (size_t i = 0; i < sent.size(); ++i) expect_equal(read[i], sent[i]);
  }
}

TEST(ControlMessage, HasOneByteOrder) {
  EXPECT_EQ(encode(plain(Kind::bye)), std::string("\x01\x00\x00\x00\x04", 5));
}

TEST(ControlMessage, AFrameIsCutNowhereUnseen) {
  for (const ControlMessage& message : all_kinds()) {
    std::string frame = encode(message);
    for (size_t bytes = 0; bytes < frame.size(); ++bytes) {
      FrameReader reader;
      reader.append(frame.substr(0, bytes));
      EXPECT_FALSE(reader.next()) << bytes;
    }
  }
}

// A payload shorter or longer than its fields say, whose length field is right.
TEST(ControlMessage, RefusesAPayloadThatDoesNotFitItsFields) {
  for (const ControlMessage& message : all_kinds()) {
    std::string body = encode(message).substr(4);
    auto refused = [](const std::string& payload) {
      std::string frame;
      for (int i = 0; i < 4; ++i) frame.push_back(static_cast<char>(payload.size() >> (8 * i)));
      FrameReader reader;
      reader.append(frame + payload);
      EXPECT_THROW(reader.next(), Error) << payload.size();
    };
    for (size_t bytes = 0; bytes < body.size(); ++bytes) refused(body.substr(0, bytes));
    body.push_back('x');
    refused(body);
  }
}

TEST(ControlMessage, RefusesLengthsKindsPhasesAndTimesThatCannotBe) {
  auto refused = [](const std::string& bytes) {
    FrameReader reader;
    reader.append(bytes);
    EXPECT_THROW(reader.next(), Error);
  };
  refused(std::string(4, '\0'));
  refused("\xff\xff\xff\xff");
  refused("GET / HTTP/1.1\r\n");
  refused(std::string("\x01\x00\x00\x00\x00", 5));
  refused(std::string("\x01\x00\x00\x00\x07", 5));
  std::string beat = encode(a_beat());
  size_t first_phase = 4 + 1 + 8 + 4 + 4 + 5;
  ASSERT_EQ(beat[first_phase], static_cast<char>(Phase::backward));
  std::string broken = beat;
  broken[first_phase] = static_cast<char>(Phase::checkpoint) + 1;
  refused(broken);
  std::fill_n(beat.begin() + static_cast<int>(first_phase) + 1 + 8 + 8, 8, '\xff');
  refused(beat);
}

// A count of rows beyond the frame ends at the frame's end, not at the memory's.
TEST(ControlMessage, RefusesMoreRowsThanThereAre) {
  std::string beat = encode(a_beat());
  FrameReader reader;
  std::fill_n(beat.begin() + 4 + 1 + 8, 4, '\xff');
  reader.append(beat);
  EXPECT_THROW(reader.next(), Error);
}

TEST(ControlMessage, CutsTextsThatNoFrameHolds) {
  ControlMessage message = a_verdict();
  message.failure.text.assign(size_t{1} << 20, 'x');
  message.failure.table.assign(2 * kMaxFrameBytes, 'y');
  FrameReader reader;
  reader.append(encode(message));
  auto read = reader.next();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->failure.text, message.failure.text.substr(0, size_t{64} << 10));
  EXPECT_EQ(read->failure.table, message.failure.table.substr(0, kMaxFrameBytes / 2));
}

}  // namespace
}  // namespace spire

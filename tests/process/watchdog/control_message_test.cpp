#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/process/watchdog/control_channel.h"
#include "tests/base/message_of.h"

namespace spire {
namespace {

using Kind = ControlMessage::Kind;

ControlMessage a_heartbeat() {
  ControlMessage message;
  message.period = 0.25;
  message.rows = {{"cpu:0", Phase::backward, 0, 37, 10.25}, {"exchange", Phase::bucket, -3, 38, 0}};
  return message;
}

ControlMessage an_abort() {
  ControlMessage message;
  message.kind = Kind::abort;
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
  ControlMessage failure = an_abort();
  failure.kind = Kind::failure;
  return {a_heartbeat(),         failure,         an_abort(), plain(Kind::done),
          plain(Kind::all_done), plain(Kind::ack)};
}

TEST(ControlMessage, GoesThroughJson) {
  for (const ControlMessage& message : all_kinds())
    expect_equal(read_control_message(to_json(message)), message);
}

TEST(ControlMessage, IsPlainJson) {
  EXPECT_EQ(to_json(plain(Kind::done)), R"({"kind":"done"})");
  ControlMessage message;
  message.rows = {{"cpu:0", Phase::backward, 0, 37, 10.25}};
  EXPECT_EQ(to_json(message),
            R"({"kind":"heartbeat","period":1.0,"rows":[["cpu:0",5,0,37,10.25]]})");
}

void expect_refused(const std::string& text) {
  EXPECT_THAT(message_of(Category::collective, [&] { read_control_message(text); }),
              testing::StartsWith("a message is broken: "))
      << text;
}

TEST(ControlMessage, RefusesOneThatIsCutOrLonger) {
  for (const ControlMessage& message : all_kinds()) {
    std::string text = to_json(message);
    for (size_t bytes = 0; bytes < text.size(); ++bytes) expect_refused(text.substr(0, bytes));
    for (const char* more : {"x", "{}", ",", "\x01"}) expect_refused(text + more);
  }
}

// Replaces the one occurrence of `part`.
std::string replaced(std::string text, const std::string& part, const std::string& by) {
  size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.replace(at, part.size(), by);
}

TEST(ControlMessage, RefusesKindsPhasesAndTimesThatCannotBe) {
  for (const char* text : {"", "null", "[]", "{}", "7", "GET / HTTP/1.1\r\n", R"({"kind":null})",
                           R"({"kind":0})", R"({"kind":"verdict"})", R"({"kind":["done"]})"})
    expect_refused(text);
  const std::string row = R"("cpu:0",5,0,37,10.25)", heartbeat = to_json(a_heartbeat());
  for (const char* other :
       {R"("cpu:0",12,0,37,10.25)", R"("cpu:0",-1,0,37,10.25)", R"("cpu:0",5.0,0,37,10.25)",
        R"("cpu:0",true,0,37,10.25)", R"(7,5,0,37,10.25)", R"("cpu:0",5,0,37,-0.5)",
        R"("cpu:0",5,0,37,1e999)", R"("cpu:0",5,0,37,null)", R"("cpu:0",5,0,37,"1")",
        R"("cpu:0",5,0,9223372036854775808,1)", R"("cpu:0",5,0,37)", R"("cpu:0",5,0,37,1,1)"})
    expect_refused(replaced(heartbeat, row, other));
  for (const char* period : {"-1", "\"1\"", "null", "1e999"})
    expect_refused(replaced(heartbeat, "0.25,", std::string(period) + ","));
  expect_refused(replaced(heartbeat, R"("rows":[)", R"("more":1,"rows":[)"));
  expect_refused(replaced(heartbeat, R"("period")", R"("perioD")"));
}

TEST(ControlMessage, RefusesFailuresThatDoNotFit) {
  const std::string abort = to_json(an_abort());
  expect_refused(replaced(abort, R"("rank":3)", R"("rank":2147483648)"));
  expect_refused(replaced(abort, R"("rank":3)", R"("rank":"3")"));
  expect_refused(replaced(abort, R"("consequence":true)", R"("consequence":1)"));
  expect_refused(replaced(abort, R"("text":"rank 3: bad file")", R"("text":3)"));
  expect_refused(replaced(abort, R"("category":4)", R"("category":4,"more":4)"));
  expect_refused(R"({"kind":"abort"})");
  expect_refused(R"({"kind":"abort","failure":[]})");
  expect_refused(R"({"kind":"done","failure":{}})");
}

TEST(ControlMessage, CutsTextsThatAreTooLong) {
  ControlMessage message = an_abort();
  message.failure.text.assign(size_t{1} << 20, 'x');
  message.failure.table.assign(2 * max_control_bytes, 'y');
  auto read = read_control_message(to_json(message));
  EXPECT_EQ(read.failure.text, message.failure.text.substr(0, size_t{64} << 10));
  EXPECT_EQ(read.failure.table, message.failure.table.substr(0, max_control_bytes / 2));
}

// The JSON of a control character is six bytes long.
TEST(ControlMessage, CutsATableWhoseEscapesAreTooLong) {
  for (char byte : {'\x01', '\n', '\xff'}) {
    ControlMessage message = an_abort();
    message.failure.text.assign(size_t{1} << 20, byte);
    message.failure.table.assign(max_control_bytes, byte);
    std::string json = to_json(message);
    EXPECT_LE(json.size(), max_control_bytes);
    auto read = read_control_message(json);
    EXPECT_FALSE(read.failure.table.empty());
    EXPECT_GE(read.failure.text.size(), size_t{64} << 10);
  }
}

TEST(ControlMessage, BytesThatAreNotUtf8AreReplaced) {
  ControlMessage message = an_abort();
  message.failure.text = "caf\xe9.csv: \"bad\"\\";
  EXPECT_EQ(read_control_message(to_json(message)).failure.text, "caf\xef\xbf\xbd.csv: \"bad\"\\");
}

}  // namespace
}  // namespace spire

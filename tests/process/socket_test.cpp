// Listeners without room for a connection or with refused ones, and reserved ports.
#include "engine/process/socket.h"

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "tests/base/message_of.h"
#include "tests/process/file_limit.h"

namespace spire {
namespace {

Deadline in_a_minute() {
  return std::chrono::steady_clock::now() + std::chrono::minutes(1);
}

TEST(Listener, WithoutRoomForAConnectionSaysSo) {
  Listener listener(0);
  Socket caller = connect_to("127.0.0.1", listener.port(), in_a_minute());
  {
    FileLimit limit(caller.descriptor());
    for (Deadline deadline : {in_a_minute(), std::chrono::steady_clock::now()}) {
      std::string message = message_of(Category::device, [&] { listener.accept(deadline); });
      EXPECT_NE(message.find("no connection can be taken on port "), std::string::npos) << message;
      EXPECT_NE(message.find("(ulimit -n)"), std::string::npos) << message;
    }
    EXPECT_NE(message_of(Category::device, [] { Listener second(0); }).find("(ulimit -n)"),
              std::string::npos);
  }
  EXPECT_TRUE(listener.accept(in_a_minute()).has_value());  // it waited in the queue
}

// A listener that is shut down refuses as a firewall does: readable, and each accept() fails.
TEST(Listener, RefusedForGoodStopsAtTheDeadline) {
  Listener listener(0);
  ASSERT_EQ(shutdown(listener.descriptor(), SHUT_RDWR), 0);
  for (int milliseconds : {0, 1, 50}) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    EXPECT_FALSE(listener.accept(deadline));
  }
}

TEST(ReservedPort, IsGivenOnlyToAListenerThatAsksForIt) {
  ReservedPort first, second;
  EXPECT_NE(first.number(), second.number());
  Listener listener(first.number());
  EXPECT_EQ(listener.port(), first.number());
  EXPECT_THROW(Listener(first.number()), Error);
}

TEST(ReservedPort, AcceptsNoConnectionBeforeAListenerHasIt) {
  ReservedPort port;
  EXPECT_THROW(connect_to("127.0.0.1", port.number(), std::chrono::steady_clock::now()), Error);
}

}  // namespace
}  // namespace spire

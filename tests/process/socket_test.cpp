// What a listener does when this process may have no further connection.
#include <gtest/gtest.h>
#include <spire/process/socket.h>
#include <sys/resource.h>

#include "tests/base/message_of.h"

namespace spire {
namespace {

// No descriptor from `first` on can be opened while one lives.
class FileLimit {
 public:
  explicit FileLimit(int first) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = {static_cast<rlim_t>(first), before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

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
  EXPECT_TRUE(listener.accept(in_a_minute()).has_value());  // it waited at the door
}

}  // namespace
}  // namespace spire

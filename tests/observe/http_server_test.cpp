#include "engine/observe/http/http_server.h"

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <latch>
#include <netinet/in.h>
#include <span>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/socket.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <spire/error.h>

#include "engine/base/system.h"
#include "tests/base/message_of.h"
#include "tests/observe/client.h"

namespace spire {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

HttpReply echo(std::string_view path) {
  if (path == "/fails") throw std::runtime_error("out of paper");
  if (path == "/long") return {200, "text/plain", std::string(8 << 20, 'x')};
  return {200, "text/plain", "you asked for " + std::string(path)};
}

TEST(HttpServer, AnswersGetAndHead) {
  HttpServer server({.port = 0}, "monitor.serve", echo);
  std::string answer = ask(server.port(), "/news?x=1");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(answer, HasSubstr("Content-Type: text/plain\r\n"));
  EXPECT_EQ(body_of(answer), "you asked for /news");
  std::string head = ask(server.port(), "/news", "HEAD");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("Content-Length: 19\r\n"));
  EXPECT_EQ(body_of(head), "");
}

TEST(HttpServer, RefusesOtherMethodsAndSurvivesAHandlerThatThrows) {
  HttpServer server({.port = 0}, "monitor.serve", echo);
  EXPECT_THAT(ask(server.port(), "/", "DELETE"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask(server.port(), "/", "POST"), StartsWith("HTTP/1.1 405"));
  EXPECT_THAT(ask(server.port(), "/fails"), StartsWith("HTTP/1.1 500"));
  EXPECT_THAT(ask(server.port(), "/"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, ClientsThatHangDelayNeitherOthersNorTheEnd) {
  std::vector<Socket> hanging;
  auto begin = [&](int port, const std::string& text) {
    hanging.push_back(connect_to(loopback_address, port, in_a_minute()));
    hanging.back().send_all(text.data(), text.size(), in_a_minute());
  };
  {
    HttpServer server({.port = 0}, "monitor.serve", echo);
    for (int i = 0; i < 3; ++i) {
      begin(server.port(), "");                      // says nothing
      begin(server.port(), "GET / HTTP/1.1\r\nHo");  // stops within its request
      begin(server.port(), "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n");  // reads no answer
    }
    for (int i = 0; i < 5; ++i) EXPECT_EQ(body_of(ask(server.port(), "/")), "you asked for /");
  }
  // The server is gone, although none of them has ended its connection.
  for (Socket& socket : hanging) EXPECT_LT(read_all(socket).size(), size_t{8} << 20);
}

TEST(HttpServer, ClientsThatDisappearDisturbNobody) {
  HttpServer server({.port = 0}, "monitor.serve", echo);
  for (int i = 0; i < 8; ++i) {
    Socket socket = connect_to(loopback_address, server.port(), in_a_minute());
    std::string request = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n";
    socket.send_all(request.data(), request.size(), in_a_minute());
  }
  EXPECT_EQ(body_of(ask(server.port(), "/")), "you asked for /");
}

// A connection whose own end is the n-th loopback address: 127.0.0.1 for 0.
Socket connect_from(uint32_t n, int port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in own{}, server{};
  own.sin_family = server.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + n);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  server.sin_port = htons(static_cast<uint16_t>(port));
  auto address = [](sockaddr_in& of) { return reinterpret_cast<sockaddr*>(&of); };
  EXPECT_EQ(bind(socket.descriptor(), address(own), sizeof own), 0);
  int code = connect(socket.descriptor(), address(server), sizeof server);
  EXPECT_TRUE(code == 0 || errno == EINPROGRESS) << errno;  // it does not block
  return socket;
}

// All that come through a tunnel have one address: of these, too, idle ones keep nobody out.
TEST(HttpServer, IdleConnectionsOfAnAddressDelayNeitherItselfNorOthers) {
  HttpServer server({.port = 0}, "monitor.serve", echo);
  std::vector<Socket> held;
  for (int i = 0; i < 200; ++i)
    held.push_back(connect_to(loopback_address, server.port(), in_a_minute()));
  EXPECT_EQ(body_of(ask(server.port(), "/")), "you asked for /");
  EXPECT_EQ(read_all(held[0]), "");
  Socket other = connect_from(1, server.port());
  std::string request = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  other.send_all(request.data(), request.size(), in_a_minute());
  EXPECT_EQ(body_of(read_all(other)), "you asked for /");
}

// Room for the files of a test with many connections.
class ManyFiles {
 public:
  ManyFiles() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit most = {before_.rlim_max, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
  }
  ~ManyFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  ManyFiles(const ManyFiles&) = delete;
  ManyFiles& operator=(const ManyFiles&) = delete;

 private:
  rlimit before_{};
};

// All end while the server is busy with another request, so that it sees them end at once.
TEST(HttpServer, AnswersAfterManyConnectionsThatEndAtOnce) {
  ManyFiles files;
  for (uint32_t count : {63, 64, 127, 128, 200}) {
    std::latch asked(1), closed(1);
    HttpServer server({.port = 0}, "monitor.serve", [&](std::string_view path) {
      if (path == "/busy") asked.count_down(), closed.wait();
      return echo(path);
    });
    std::vector<Socket> held;
    for (uint32_t i = 0; i < count; ++i) held.push_back(connect_from(1 + i / 16, server.port()));
    Socket busy = connect_to(loopback_address, server.port(), in_a_minute());
    std::string request = "GET /busy HTTP/1.1\r\nHost: localhost\r\n\r\n";
    busy.send_all(request.data(), request.size(), in_a_minute());
    asked.wait();
    held.clear();
    busy.shut_down();
    closed.count_down();
    EXPECT_EQ(body_of(ask(server.port(), "/")), "you asked for /") << count;
  }
}

// The idle ones hold a connection for 30 s each; the one that asks gets its answer at once.
TEST(HttpServer, AThousandIdleClientsFromManyAddressesDelayNobody) {
  ManyFiles files;
  HttpServer server({.port = 0}, "monitor.serve", echo);
  std::vector<Socket> idle;
  for (uint32_t i = 0; i < 1000; ++i) idle.push_back(connect_from(1 + i, server.port()));
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(body_of(ask(server.port(), "/")), "you asked for /");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));
  for (Socket& each : std::span(idle).first(900)) EXPECT_EQ(read_all(each), "");
}

// A page of another site may let its name mean 127.0.0.1, but the browser sends that name.
TEST(HttpServer, ALoopbackAddressServesNoOtherHost) {
  HttpServer server({.port = 0}, "monitor.serve", echo);
  std::string port = ":" + std::to_string(server.port());
  for (std::string host : {"localhost", "127.0.0.1", "127.1.2.3", "[::1]"})
    for (const std::string& behind : {std::string(), port, std::string(":9000")})
      EXPECT_EQ(server.reply_to("GET", host + behind, "/").status, 200) << host << behind;
  for (std::string host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                           "192.0.2.1", "[::2]", "[::1", "0.0.0.0", ":80"})
    EXPECT_EQ(server.reply_to("GET", host, "/").status, 403) << host;
  EXPECT_THAT(ask(server.port(), "/", "GET", "evil.example" + port), StartsWith("HTTP/1.1 403"));
  HttpServer all({.host = "0.0.0.0", .port = 0}, "monitor.serve", echo);
  EXPECT_THAT(ask(all.port(), "/", "GET", "training.example"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, TheAddressIsSaidAndJudged) {
  HttpServer here({.port = 0}, "monitor.serve", echo);
  EXPECT_EQ(here.url(), "http://127.0.0.1:" + std::to_string(here.port()));
  EXPECT_FALSE(here.seen_by_others());
  HttpServer all({.host = "0.0.0.0", .port = 0}, "monitor.serve", echo);
  EXPECT_EQ(all.url(), "http://" + host_name() + ":" + std::to_string(all.port()));
  EXPECT_TRUE(all.seen_by_others());
}

TEST(HttpServer, AnAddressThatCannotBeUsedIsRefusedWithItsKey) {
  HttpServer first({.port = 0}, "monitor.serve", echo);
  auto refusal = [](const ListenAddress& address) {
    return message_of(Category::config, [&] { HttpServer(address, "monitor.prometheus", echo); });
  };
  std::string taken = refusal({.port = first.port()});
  EXPECT_THAT(taken, StartsWith("monitor.prometheus: cannot listen on port " +
                                std::to_string(first.port()) + " of 127.0.0.1: "));
  EXPECT_THAT(taken, HasSubstr("port 0 for any free one"));
  EXPECT_THAT(refusal({.host = "no.such.host.invalid"}), HasSubstr("is not known"));
  EXPECT_THAT(refusal({.host = "192.0.2.1"}), HasSubstr("cannot listen on port 0 of 192.0.2.1"));
}

}  // namespace
}  // namespace spire

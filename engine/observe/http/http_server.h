// Answers GET requests over HTTP/1.1, on one thread for all clients. There are at most 64
// connections, 16 of them from one address; one on which nothing has moved for 30 s is closed. At
// either limit a new connection replaces the one (from that address) that has asked nothing for
// longest, so nobody waits. (RFC 9112; libmicrohttpd) RunServer serves a run by it.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/config/scalar.h"
#include "engine/observe/http/http_server.h"
#include "engine/observe/published_state.h"
#include "engine/process/socket.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace spire {

struct HttpReply {
  int status = 200;
  std::string type;  // of the content: "text/html; charset=utf-8"
  std::string body;
};

class HttpServer {
 public:
  // Called on the server's thread for each GET or HEAD. If it throws, the client gets status 500.
  using Handler = std::function<HttpReply(std::string_view path)>;

  // Clients are served from its return on. key: the config key of the address, for messages. Throws
  // Error(config) if the address is not this machine's or the port is taken. The server's thread
  // runs on the cores that the calling thread may use.
  HttpServer(const ListenAddress& address, std::string_view key, Handler handler);
  ~HttpServer();  // at once: ends all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // "http://127.0.0.1:8080"
  int port() const { return listener_.port(); }

  // Returns the reply to a request. host: its header field Host. If the server listens on a
  // loopback address, this must be localhost, a loopback address, or the host in the config, with
  // any port (as through a tunnel); else the status is 403, since a web site can make its own name
  // resolve to 127.0.0.1 in a browser (DNS rebinding).
  HttpReply reply_to(std::string_view method, std::string_view host, std::string_view path) const;

  bool seen_by_others() const { return !is_loopback(address_); }  // other machines can reach it

  // The library calls these, on the server's thread.
  void connection_begins(MHD_Connection* connection);  // may end the one that is idle for longest
  void connection_asks(MHD_Connection* connection);
  void connection_ends(MHD_Connection* connection);

 private:
  struct StopDaemon {
    void operator()(MHD_Daemon* daemon) const;
  };

  void start_daemon(std::string_view key);
  bool serves_host(std::string_view host) const;
  void serve();  // until the end, or until the library fails: then no client is answered

  std::string host_;     // as the config has it
  std::string address_;  // IPv4
  Listener listener_;
  Handler handler_;
  Socket stop_ = event_counter();
  struct Connection {
    MHD_Connection* handle = nullptr;
    uint32_t client = 0;  // IPv4 address
  };
  std::vector<Connection> connections_;  // the one that has asked nothing for longest is first
  std::unique_ptr<MHD_Daemon, StopDaemon> daemon_;
  std::jthread thread_;  // the last member: it uses the others
};

// Serves a run over HTTP while it goes on. / is the live page for browsers: one self-contained file
// that reads the run's numbers from /state.json each second. /metrics is for Prometheus.
class RunServer : public LatestState {
 public:
  using Say = std::function<void(std::string_view)>;
  struct Offers {
    bool page = false, metrics = false;  // monitor.serve, monitor.prometheus
  };

  // Serves from now on until the end of on_end(), which waits until a page that is open has had
  // time to read the last state; the metrics are empty before on_start(). Throws Error(config) as
  // HttpServer does. on_start() calls `note` with the addresses, and `warn` if other machines can
  // reach them.
  // For each request of /metrics the server's thread asks for the free space of the output's disk.
  // While that disk hangs, as NFS may, the server does not answer and on_end() does not return.
  RunServer(const ListenAddress& address, Offers offers, Say note, Say warn,
            WallClock now = wall_time);
  ~RunServer() override;

  void on_start(const StartInfo& start) override;
  void on_end(const RunSummary& summary) override;
  int port() const { return server_->port(); }  // REQUIRES: the run has not ended

 private:
  HttpReply answer(std::string_view path) const;

  const Offers offers_;
  const Say note_, warn_;
  mutable std::atomic<std::chrono::steady_clock::time_point> asked_at_ = {};  // for the state
  std::optional<HttpServer> server_;
};

}  // namespace spire

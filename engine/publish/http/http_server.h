// Answers GET requests over HTTP/1.1, on one thread for all clients: a client that hangs, is slow
// or disappears costs a connection of a few KiB and delays nobody. (RFC 9112; libmicrohttpd)
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "engine/config/listen_address.h"
#include "engine/process/socket.h"

struct MHD_Daemon;

namespace spire::inline publish {

struct HttpReply {
  int status = 200;
  std::string type;  // of the content: "text/html; charset=utf-8"
  std::string body;
};

class HttpServer {
 public:
  // Called on the server's thread for each GET or HEAD. If it throws, the client gets status 500.
  using Handler = std::function<HttpReply(std::string_view path)>;

  // The constructor's return means that clients are served. key: the config's, for messages.
  // Throws Error(config) if the address is not this machine's or the port is taken. The thread runs
  // on the cores that the calling thread may use.
  HttpServer(const ListenAddress& address, std::string_view key, Handler handler);
  ~HttpServer();  // at once: ends all connections
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const;  // "http://127.0.0.1:8080"
  int port() const { return listener_.port(); }
  bool seen_by_others() const { return !is_loopback(address_); }  // other machines reach it

 private:
  struct StopDaemon {
    void operator()(MHD_Daemon* daemon) const;
  };

  void start_daemon(std::string_view key);
  void serve();

  std::string address_;  // IPv4
  Listener listener_;
  Handler handler_;
  Socket stop_ = event_counter();
  std::unique_ptr<MHD_Daemon, StopDaemon> daemon_;
  std::jthread thread_;  // the last member: it uses the others
};

}  // namespace spire::inline publish

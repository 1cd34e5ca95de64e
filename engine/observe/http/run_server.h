// Serves a run over HTTP while it goes on. / is the live page for browsers: one self-contained file
// that reads the run's numbers from /state.json each second. /metrics is for Prometheus.
#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "engine/observe/http/http_server.h"
#include "engine/observe/published_state.h"

namespace spire {

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

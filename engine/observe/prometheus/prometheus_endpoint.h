// Lets Prometheus read the metrics of a run: GET /metrics.
#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "engine/observe/http/http_server.h"
#include "engine/observe/latest_state.h"

namespace spire {

class PrometheusEndpoint : public LatestState {
 public:
  using Say = std::function<void(std::string_view)>;

  // Serves from now on until on_end(); before on_start() the page is empty. Throws Error(config) as
  // HttpServer does. note, warn: called in on_start(), with the address, and where other machines
  // reach it.
  // The server's thread asks for the free space of the output's disk. A disk that hangs, as one of
  // NFS may, holds up its answers, and on_end() until the disk is back.
  PrometheusEndpoint(const ListenAddress& address, Say note, Say warn);
  ~PrometheusEndpoint() override;

  void on_start(const StartInfo& start) override;
  void on_end(const RunSummary& summary) override;
  int port() const { return server_->port(); }  // REQUIRES: the run has not ended

 private:
  HttpReply answer(std::string_view path) const;

  const Say note_, warn_;
  std::optional<HttpServer> server_;
};

}  // namespace spire

#include "engine/observe/prometheus/prometheus_endpoint.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "engine/observe/prometheus/prometheus_metrics.h"

namespace spire {
namespace {

std::optional<double> free_bytes(const std::string& folder) {
  std::error_code error;
  auto space = std::filesystem::space(folder, error);
  return error ? std::nullopt : std::optional(static_cast<double>(space.available));
}

}  // namespace

PrometheusEndpoint::PrometheusEndpoint(const ListenAddress& address, Say note, Say warn)
    : note_(std::move(note)), warn_(std::move(warn)) {
  server_.emplace(address, "monitor.prometheus",
                  [this](std::string_view path) { return answer(path); });
}

PrometheusEndpoint::~PrometheusEndpoint() {
  server_.reset();  // its thread reads the state
}

void PrometheusEndpoint::on_start(const StartInfo& start) {
  LatestState::on_start(start);
  note_(fmt::format("Prometheus reads the run's metrics at {}/metrics", server_->url()));
  if (server_->seen_by_others())
    warn_("monitor.prometheus: other machines can read the run's metrics; it asks for no password");
}

void PrometheusEndpoint::on_end(const RunSummary&) {
  server_.reset();
}

HttpReply PrometheusEndpoint::answer(std::string_view path) const {
  if (path == "/")
    return {200, "text/html; charset=utf-8", "<a href=\"/metrics\">metrics of the run</a>\n"};
  if (path != "/metrics") return {404, "text/plain; charset=utf-8", "the page is /metrics\n"};
  PublishedState now = state();
  auto free = now.start ? free_bytes(now.start->output) : std::nullopt;
  return {200, "text/plain; version=0.0.4; charset=utf-8", prometheus_text(now, free)};
}

}  // namespace spire

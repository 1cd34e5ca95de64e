#include "engine/observe/http/run_server.h"

#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "engine/observe/page/page.h"
#include "engine/observe/published_state.h"

namespace spire {
namespace {

constexpr const char *html_type = "text/html; charset=utf-8",
                     *text_type = "text/plain; charset=utf-8";

std::optional<double> free_bytes(const std::string& folder) {
  std::error_code error;
  auto space = std::filesystem::space(folder, error);
  return error ? std::nullopt : std::optional(static_cast<double>(space.available));
}

}  // namespace

RunServer::RunServer(const ListenAddress& address, Offers offers, Say note, Say warn, WallClock now)
    : LatestState(std::move(now)), offers_(offers), note_(std::move(note)), warn_(std::move(warn)) {
  server_.emplace(address, offers.page ? "monitor.serve" : "monitor.prometheus",
                  [this](std::string_view path) { return answer(path); });
}

RunServer::~RunServer() {
  server_.reset();  // its thread reads the state
}

void RunServer::on_start(const StartInfo& start) {
  LatestState::on_start(start);
  auto tell = [&](const char* key, const char* what, const std::string& where) {
    note_(where);
    if (server_->seen_by_others())
      warn_(fmt::format("{}: other machines can read the run's {}; it asks for no password", key,
                        what));
  };
  std::string url = server_->url();
  if (offers_.metrics)
    tell("monitor.prometheus", "metrics",
         fmt::format("Prometheus reads the run's metrics at {}/metrics", url));
  if (offers_.page) tell("monitor.serve", "page", fmt::format("live page: {}/", url));
}

// An open page asks each second.
void RunServer::on_end(const RunSummary& summary) {
  using namespace std::chrono_literals;
  LatestState::on_end(summary);
  if (std::chrono::steady_clock::now() - asked_at_.load() < 3s) std::this_thread::sleep_for(1500ms);
  server_.reset();
}

HttpReply RunServer::answer(std::string_view path) const {
  if (offers_.page && path == "/")
    return {200, html_type,
            html_of({"live", "Spire", "Programs read the run's numbers from /state.json.", "{}"})};
  if (offers_.page && path == "/state.json") {
    asked_at_ = std::chrono::steady_clock::now();
    return {200, "application/json", page_json(state(), now())};
  }
  if (offers_.metrics && path == "/metrics") {
    PublishedState latest = state();
    auto free = latest.start ? free_bytes(latest.start->output) : std::nullopt;
    return {200, "text/plain; version=0.0.4; charset=utf-8", prometheus_text(latest, free)};
  }
  if (path == "/") return {200, html_type, "<a href=\"/metrics\">metrics of the run</a>\n"};
  return {404, text_type, offers_.page ? "the page is /\n" : "the page is /metrics\n"};
}

}  // namespace spire

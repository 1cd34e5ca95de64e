#include "engine/observe/http/http_server.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <exception>
#include <filesystem>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <microhttpd.h>
#include <poll.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "engine/base/thread.h"
#include "engine/observe/page/page.h"
#include "engine/observe/published_state.h"

namespace spire {
namespace {

constexpr unsigned max_connections = 64, idle_seconds = 30;
constexpr int max_of_a_client = 16;
// At its own limit the library listens no more, and forgets to begin again when all connections end
// at once: so the limit is out of reach, and no wait is without end.
constexpr unsigned library_limit = 2 * max_connections;
constexpr int longest_wait_ms = 1000;

std::string ipv4_of(const ListenAddress& address, std::string_view key) {
  auto found = resolve_address(address.host);
  if (!found)
    fail(Category::config, "{}: the host name '{}' is not known; write an address of this machine",
         key, address.host);
  return *found;
}

Listener listen_at(const std::string& address, int port, std::string_view key) {
  try {
    return Listener(port, address);
  } catch (const Error& error) {
    fail(Category::config, "{}: {}; name another address, port 0 for any free one, or none", key,
         error.what());
  }
}

MHD_Result send(MHD_Connection* connection, const HttpReply& reply) {
  MHD_Response* response = MHD_create_response_from_buffer(
      reply.body.size(), const_cast<char*>(reply.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.type.c_str());
  MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  if (reply.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  MHD_Result queued = MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

HttpReply plain(int status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

// Called by the library when the head of a request is there: a body, if any, is not waited for.
MHD_Result answer(void* object, MHD_Connection* connection, const char* path, const char* method,
                  const char*, const char*, size_t*, void**) {
  auto& server = *static_cast<HttpServer*>(object);
  server.connection_asks(connection);
  const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
  return send(connection, server.reply_to(method, host == nullptr ? "" : host, path));
}

void note_connection(void* object, MHD_Connection* connection, void**,
                     MHD_ConnectionNotificationCode what) {
  auto& server = *static_cast<HttpServer*>(object);
  what == MHD_CONNECTION_NOTIFY_STARTED ? server.connection_begins(connection)
                                        : server.connection_ends(connection);
}

// The library sees that the connection has ended, and closes it.
void hang_up(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  if (info != nullptr) shutdown(info->connect_fd, SHUT_RDWR);
}

// IPv4 address; 0 if unknown.
uint32_t client_of(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr || info->client_addr->sa_family != AF_INET)
    return 0;
  return reinterpret_cast<const sockaddr_in*>(info->client_addr)->sin_addr.s_addr;
}

// "[::1]:8080" -> "[::1]", "localhost:8080" -> "localhost"
std::string_view without_port(std::string_view host) {
  size_t colon = host.rfind(':'), bracket = host.rfind(']');
  bool has_port = colon != host.npos && (bracket == host.npos || bracket < colon);
  return has_port ? host.substr(0, colon) : host;
}

// Closes a duplicate of a socket, unless it has been closed: its number may be another file's now.
void close_duplicate(int duplicate, int socket) {
  struct stat one, other;
  if (fstat(duplicate, &one) == 0 && fstat(socket, &other) == 0 && one.st_dev == other.st_dev &&
      one.st_ino == other.st_ino)
    close(duplicate);
}

// What clients do wrong is no news of the run.
void ignore_log(void*, const char*, va_list) {}

}  // namespace

void HttpServer::StopDaemon::operator()(MHD_Daemon* daemon) const {
  MHD_stop_daemon(daemon);
}

HttpServer::HttpServer(const ListenAddress& address, std::string_view key, Handler handler)
    : host_(address.host),
      address_(ipv4_of(address, key)),
      listener_(listen_at(address_, address.port, key)),
      handler_(std::move(handler)) {
  start_daemon(key);
  thread_ = start_thread({"http", allowed_cores()}, [this] { serve(); });
}

HttpServer::~HttpServer() {
  notify(stop_);
}

// The library closes the descriptor that it is given; if it does not start, in some cases only.
void HttpServer::start_daemon(std::string_view key) {
  MHD_get_version();  // throws where the library cannot be opened
  int listening = fcntl(listener_.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (listening >= 0)  // without one the library would listen on all interfaces
    daemon_.reset(MHD_start_daemon(
        MHD_USE_EPOLL, 0, nullptr, nullptr, &answer, this, MHD_OPTION_LISTEN_SOCKET, listening,
        MHD_OPTION_CONNECTION_LIMIT, library_limit, MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_NOTIFY_CONNECTION, &note_connection, this, MHD_OPTION_EXTERNAL_LOGGER,
        &ignore_log, nullptr, MHD_OPTION_END));
  if (daemon_) return;
  int error = errno;
  if (listening >= 0) close_duplicate(listening, listener_.descriptor());
  fail(Category::device, "{}: the HTTP server does not start: {}", key, system_reason(error));
}

void HttpServer::connection_begins(MHD_Connection* connection) {
  uint32_t client = client_of(connection);
  connections_.push_back({connection, client});
  auto same = [&](const Connection& other) { return other.client == client; };
  bool is_full = connections_.size() > max_connections;
  if (!is_full && std::ranges::count_if(connections_, same) <= max_of_a_client) return;
  auto idle = is_full ? connections_.begin() : std::ranges::find_if(connections_, same);
  hang_up(idle->handle);
  connections_.erase(idle);
}

void HttpServer::connection_asks(MHD_Connection* connection) {
  auto found = std::ranges::find(connections_, connection, &Connection::handle);
  if (found != connections_.end()) std::rotate(found, found + 1, connections_.end());
}

void HttpServer::connection_ends(MHD_Connection* connection) {
  std::erase_if(connections_, [&](const Connection& each) { return each.handle == connection; });
}

bool HttpServer::serves_host(std::string_view host) const {
  if (seen_by_others()) return true;
  std::string name(without_port(host));
  return name == "localhost" || name == "[::1]" || name == host_ || is_loopback(name);
}

HttpReply HttpServer::reply_to(std::string_view method, std::string_view host,
                               std::string_view path) const {
  if (!serves_host(host))
    return plain(MHD_HTTP_FORBIDDEN, "ask for localhost: this page is for this machine alone\n");
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD)
    return plain(MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
  try {
    return handler_(path);
  } catch (const std::exception& error) {
    return plain(MHD_HTTP_INTERNAL_SERVER_ERROR, fmt::format("{}\n", error.what()));
  }
}

std::string HttpServer::url() const {
  std::string host = address_ == "0.0.0.0" ? host_name() : address_;
  return fmt::format("http://{}:{}", host, port());
}

void HttpServer::serve() {
  const MHD_DaemonInfo* info = MHD_get_daemon_info(daemon_.get(), MHD_DAEMON_INFO_EPOLL_FD);
  std::array<pollfd, 2> waits = {{{stop_.descriptor(), POLLIN, 0}, {info->epoll_fd, POLLIN, 0}}};
  while (waits[0].revents == 0) {
    MHD_UNSIGNED_LONG_LONG left = 0;  // ms until a connection has been idle for too long
    if (MHD_get_timeout(daemon_.get(), &left) != MHD_YES) left = longest_wait_ms;
    left = std::min<MHD_UNSIGNED_LONG_LONG>(left, longest_wait_ms);
    poll(waits.data(), waits.size(), static_cast<int>(left));
    if (MHD_run(daemon_.get()) != MHD_YES) return;
  }
}

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

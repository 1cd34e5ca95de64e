#include "engine/process/rendezvous/acceptor.h"

#include <algorithm>

#include <poll.h>

namespace spire {

using Clock = std::chrono::steady_clock;

Acceptor::Acceptor(Listener listener, Credentials credentials, Limits limits)
    : listener_(std::move(listener)), credentials_(std::move(credentials)), limits_(limits) {}

// One thread serves all pending connections from one poll(): none of them can block the others.
std::optional<Acceptor::Connection> Acceptor::next(Deadline deadline) {
  for (;;) {
    silent_ += static_cast<int>(std::erase_if(
        pending_, [now = Clock::now()](const Pending& pending) { return pending.end <= now; }));
    if (auto connection = advance_all()) return connection;
    if (Clock::now() >= deadline) return {};
    wait(deadline);
    accept_waiting();
  }
}

// Returns the first connection that is accepted, and removes those that are gone.
std::optional<Acceptor::Connection> Acceptor::advance_all() {
  using State = HandshakeServer::State;
  for (auto pending = pending_.begin(); pending != pending_.end();) {
    State state = pending->handshake.advance(pending->socket, credentials_);
    if (state == State::incomplete) {
      ++pending;
      continue;
    }
    denied_ += state == State::denied;
    foreign_ += state == State::foreign;
    HandshakeServer& handshake = pending->handshake;
    bool joins = handshake.request().kind == ConnectRequest::Kind::join;
    Connection connection{std::move(pending->socket), handshake.request(),
                          joins ? std::move(handshake.peer_info()) : std::string()};
    pending = pending_.erase(pending);
    if (state == State::accepted) return connection;
  }
  return {};
}

// Waits for a connection or bytes of one, until the oldest connection expires or the deadline.
void Acceptor::wait(Deadline deadline) const {
  std::vector<pollfd> entries{{listener_.descriptor(), POLLIN, 0}};
  for (const Pending& pending : pending_)
    entries.push_back({pending.socket.descriptor(), POLLIN, 0});
  Deadline end = pending_.empty() ? deadline : std::min(deadline, pending_.front().end);
  poll(entries.data(), entries.size(), milliseconds_until(end));
}

// Accepts the waiting connections. If no descriptor is free for one more (ulimit -n), a pending one
// is dropped, since silent peers must not keep out a rank; but connections accepted in this call
// are served first.
void Acceptor::accept_waiting() {
  for (size_t accepted = 0; accepted < limits_.pending; ++accepted) {
    try {
      auto socket = listener_.accept(Clock::now());
      if (!socket) return;
      if (pending_.size() >= limits_.pending) drop_one();
      pending_.push_back({std::move(*socket), Clock::now() + limits_.time, {}});
    } catch (const Error& error) {
      if (error.category() != Category::device || pending_.empty()) throw;
      if (accepted == 0) drop_one();
      return;
    }
  }
}

// Drops the oldest of the connections that have said the least. A rank among many unknown peers may
// be dropped, too: it connects again.
void Acceptor::drop_one() {
  auto stage = [](const Pending& pending) { return pending.handshake.stage(); };
  pending_.erase(std::ranges::min_element(pending_, {}, stage));
  ++silent_;
}

std::string Acceptor::turned_away() const {
  const std::pair<int, const char*> kinds[] = {
      {denied_, "did not know this run's secret (SPIRE_SECRET, the same for all ranks)"},
      {foreign_, "said something else"},
      {silent_, "said nothing"}};
  std::string list;
  for (auto [number, what] : kinds) {
    if (number > 0) list += fmt::format("{}{} that {}", list.empty() ? "" : ", ", number, what);
  }
  return list.empty() ? "" : fmt::format(" (turned away connections: {})", list);
}

}  // namespace spire

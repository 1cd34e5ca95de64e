#include "engine/process/rendezvous/acceptor.h"

#include <algorithm>

#include <poll.h>

namespace spire::inline process {

using Clock = std::chrono::steady_clock;

Acceptor::Acceptor(Listener listener, Credentials credentials, Limits limits)
    : listener_(std::move(listener)), credentials_(std::move(credentials)), limits_(limits) {}

// One thread serves all pending connections from one poll(): none of them can block the others.
std::optional<Acceptor::Connection> Acceptor::next(Deadline deadline) {
  for (;;) {
    drop_expired();
    if (auto connection = advance_all()) return connection;
    if (Clock::now() >= deadline) return {};
    wait(deadline);
    accept_waiting();
  }
}

// Waits for a connection or bytes of one, until the oldest connection expires or the deadline.
void Acceptor::wait(Deadline deadline) {
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
      if (!accept_one()) return;
    } catch (const Error& error) {
      if (error.category() != Category::device || pending_.empty()) throw;
      if (accepted == 0) drop_one();
      return;
    }
  }
}

bool Acceptor::accept_one() {
  auto socket = listener_.accept(Clock::now());
  if (!socket) return false;
  if (pending_.size() >= limits_.pending) drop_one();
  Pending& pending = pending_.emplace_back();
  pending.socket = std::move(*socket);
  pending.end = Clock::now() + limits_.time;
  return true;
}

// Drops the oldest of the connections that have said the least. A rank among many unknown peers may
// be dropped, too: it connects again.
void Acceptor::drop_one() {
  auto dropped = std::ranges::min_element(pending_, {}, [](const Pending& pending) {
    return pending.authenticated ? 2 : pending.handshake.called() ? 1 : 0;
  });
  pending_.erase(dropped);
  ++silent_;
}

void Acceptor::drop_expired() {
  auto now = Clock::now();
  silent_ += static_cast<int>(
      std::erase_if(pending_, [&](const Pending& pending) { return pending.end <= now; }));
}

Acceptor::State Acceptor::advance_handshake(Pending& pending) {
  switch (pending.handshake.advance(pending.socket, credentials_)) {
    case HandshakeServer::State::incomplete:
      return State::waits;
    case HandshakeServer::State::closed:
      return State::gone;
    case HandshakeServer::State::foreign:
      ++foreign_;
      return State::gone;
    case HandshakeServer::State::denied:
      ++denied_;
      return State::gone;
    case HandshakeServer::State::accepted:
      break;
  }
  pending.authenticated = true;
  return State::ready;
}

// A rank that joins is ready when its PeerInfo has arrived, a peer right after the handshake: later
// bytes on its connection are the group's.
Acceptor::State Acceptor::advance(Pending& pending) {
  if (!pending.authenticated) {
    State state = advance_handshake(pending);
    if (state != State::ready) return state;
  }
  if (pending.handshake.request().kind != ConnectRequest::Kind::join) return State::ready;
  switch (pending.peer_info.read(pending.socket)) {
    case FrameReader::State::incomplete:
      return State::waits;
    case FrameReader::State::whole:
      break;
    default:
      return State::gone;
  }
  bool fits = pending.peer_info.frame().kind == FrameKind::peer_info;
  return fits ? State::ready : State::gone;
}

// Returns the first connection that is ready, and removes those that are gone.
std::optional<Acceptor::Connection> Acceptor::advance_all() {
  for (size_t i = 0; i < pending_.size();) {
    Pending& pending = pending_[i];
    State state = advance(pending);
    if (state == State::waits) {
      ++i;
      continue;
    }
    Connection connection{std::move(pending.socket), pending.handshake.request(),
                          std::move(pending.peer_info.frame().text)};
    pending_.erase(pending_.begin() + static_cast<ptrdiff_t>(i));
    if (state == State::ready) return connection;
  }
  return {};
}

std::string Acceptor::turned_away() const {
  std::vector<std::string> kinds;
  auto add = [&](int number, const char* what) {
    if (number > 0) kinds.push_back(fmt::format("{} that {}", number, what));
  };
  add(denied_, "did not know this run's secret (SPIRE_SECRET, the same for all ranks)");
  add(foreign_, "said something else");
  add(silent_, "said nothing");
  if (kinds.empty()) return {};
  return fmt::format(" (turned away connections: {})", fmt::join(kinds, ", "));
}

}  // namespace spire::inline process

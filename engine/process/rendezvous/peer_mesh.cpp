#include "engine/process/rendezvous/peer_mesh.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <poll.h>

#include "engine/process/json_fields.h"
#include "engine/process/rendezvous/master_endpoint.h"

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

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Names of hosts and addresses reach messages, and so the terminal.
bool is_plain(char c) {
  return c > ' ' && c <= '~';
}

std::string plain_name(std::string name) {
  for (char& c : name) c = is_plain(c) ? c : '?';
  return name.empty() ? "-" : name;
}

Json to_fields(const PeerInfo& peer) {
  const RankInfo& info = peer.info;
  return {{"rank", info.rank}, {"host", plain_name(info.host)},
          {"pid", info.pid},   {"cores", info.cores},
          {"size", peer.size}, {"port", peer.port},
          {"run", peer.run},   {"addresses", peer.addresses}};
}

PeerInfo read_fields(const Json& object) {
  JsonFields fields(object, 8);
  PeerInfo peer;
  RankInfo& info = peer.info;
  info.rank = fields.integer("rank");
  info.host = fields.text("host");
  info.pid = fields.integer("pid");
  for (const Json& core : fields.list("cores"))
    info.cores.push_back(JsonFields::integer_in(core, "a core"));
  peer.size = fields.integer("size");
  peer.port = fields.integer("port");
  peer.run = fields.integer<uint64_t>("run");
  peer.addresses = fields.texts("addresses");
  JsonFields::check(info.rank >= 0 && info.rank < peer.size, "rank");
  JsonFields::check(std::ranges::all_of(info.host, is_plain), "host");
  for (const std::string& address : peer.addresses)
    JsonFields::check(std::ranges::all_of(address, is_plain), "addresses");
  return peer;
}

// Connects to `target` at one of its addresses and authenticates. The target listens already, so
// its right address answers soon. An address may lead to another process, which gets no proof, or
// to silence: each attempt at one is short, and longer in every round. The target itself may take
// until the timeout for its welcome, since it answers only when it accepts peers.
Socket connect_to_peer(const Credentials& own, const PeerInfo& self, const PeerInfo& target,
                       const JoinTimeout& timeout) {
  ConnectRequest request{ConnectRequest::Kind::peer, own.run, own.rank, target.info.rank};
  std::string reason = "it has no address";
  for (double attempt = 0.5; Clock::now() < timeout.end; attempt = std::min(2 * attempt, 60.0)) {
    for (const std::string& address : target.addresses) {
      try {
        auto end = std::min(Clock::now() + seconds_of(attempt), timeout.end);
        Socket socket = connect_to(address, target.port, end);
        authenticate(socket, own.secret, request, end, timeout.end);
        return socket;
      } catch (const Error& error) {
        if (error.category() != Category::collective) throw;
        reason = error.what();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail(Category::collective, "{} did not reach {} at {} within {:g} s: {}", to_string(self.info),
       to_string(target.info), endpoints_text(target.addresses, target.port), timeout.seconds,
       reason);
}

}  // namespace

std::string to_json(const PeerInfo& peer) {
  return to_message(to_fields(peer));
}

std::optional<PeerInfo> read_peer_info(const std::string& json) try {
  return read_fields(parse_message(json));
} catch (const Error&) {
  return {};
}

std::string to_json(const std::vector<PeerInfo>& peers) {
  Json list = Json::array();
  for (const PeerInfo& peer : peers) list.push_back(to_fields(peer));
  return to_message(list);
}

// The table of thousands of ranks with hundreds of cores each has millions of values. It comes from
// a rank that knows the secret, in a frame of limited size.
constexpr int64_t max_table_values = 64'000'000;

std::optional<std::vector<PeerInfo>> read_peer_table(const std::string& json) try {
  Json list = parse_message(json, max_table_values);
  JsonFields::check(list.is_array(), "the table");
  std::vector<PeerInfo> peers;
  for (const Json& object : list) {
    PeerInfo& peer = peers.emplace_back(read_fields(object));
    JsonFields::check(peer.info.rank + 1 == std::ssize(peers), "rank");
  }
  return peers;
} catch (const Error&) {
  return {};
}

JoinTimeout::JoinTimeout(double limit) : seconds(limit), end(Clock::now() + seconds_of(limit)) {}

// Shared by the two stages of a rendezvous: ranks that join at rank 0, and peers of the mesh.
std::optional<Acceptor::Connection> accept_missing(Acceptor& acceptor,
                                                   const std::vector<Socket>& sockets, int first,
                                                   const std::string& where,
                                                   const JoinTimeout& timeout) {
  std::vector<size_t> missing;
  for (auto rank = static_cast<size_t>(first); rank < sockets.size(); ++rank) {
    if (!sockets[rank]) missing.push_back(rank);
  }
  if (missing.empty()) return {};
  if (auto connection = acceptor.next(timeout.end)) return connection;
  bool one = missing.size() == 1;
  fail(Category::collective,
       "{} {} of {} did not connect to {} within {:g} s: {} started, and can {} reach it?{}",
       one ? "rank" : "ranks", fmt::join(missing, ", "), sockets.size(), where, timeout.seconds,
       one ? "is it" : "are they", one ? "it" : "they", acceptor.turned_away());
}

// Each rank connects to all lower ones, which accept when they have done the same: rank 0 is the
// first to accept, so there is no cycle of waiting.
std::vector<Socket> connect_mesh(Acceptor& acceptor, const std::vector<PeerInfo>& peers,
                                 const JoinTimeout& timeout) {
  const Credentials& own = acceptor.credentials();
  const PeerInfo& self = peers[static_cast<size_t>(own.rank)];
  std::vector<Socket> sockets(peers.size());
  for (size_t rank = 0; rank < static_cast<size_t>(own.rank); ++rank)
    sockets[rank] = connect_to_peer(own, self, peers[rank], timeout);
  auto where =
      fmt::format("{} at {}", to_string(self.info), endpoints_text(self.addresses, self.port));
  while (auto connection = accept_missing(acceptor, sockets, own.rank + 1, where, timeout)) {
    // An unexpected connection closes at the end of this iteration.
    const ConnectRequest& request = connection->request;
    auto rank = static_cast<size_t>(request.from);
    bool expected = request.kind == ConnectRequest::Kind::peer && request.from > own.rank &&
                    rank < sockets.size() && !sockets[rank];
    if (expected) sockets[rank] = std::move(connection->socket);
  }
  return sockets;
}

}  // namespace spire

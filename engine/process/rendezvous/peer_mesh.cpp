#include "engine/process/rendezvous/peer_mesh.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/process/json_fields.h"

namespace spire::inline process {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

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
  // These texts reach messages, and so the terminal.
  JsonFields::check(std::ranges::all_of(info.host, is_plain), "host");
  for (const std::string& address : peer.addresses)
    JsonFields::check(std::ranges::all_of(address, is_plain), "addresses");
  return peer;
}

std::string endpoints_text(const PeerInfo& peer) {
  std::vector<std::string> list;
  for (auto& address : peer.addresses) list.push_back(fmt::format("{}:{}", address, peer.port));
  return fmt::format("{}", fmt::join(list, ", "));
}

// An address may lead to another process, which gets no proof: it has until `attempt` to answer.
// The target itself may take until `end`, since it answers only when it accepts peers.
Socket try_address(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                   const std::string& address, Deadline attempt, Deadline end) {
  Socket socket = connect_to(address, target.port, attempt);
  authenticate(socket, secret,
               {ConnectRequest::Kind::peer, target.run, self.info.rank, target.info.rank}, attempt,
               end);
  return socket;
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

std::optional<std::vector<PeerInfo>> read_peer_table(const std::string& json) try {
  Json list = parse_message(json);
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

Socket connect_to_peer(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                       JoinTimeout timeout) {
  std::string reason = "it has no address";
  // The target listens already, so its right address answers soon. Wrong ones may be silent: each
  // attempt at an address is short, and longer in every round.
  for (double attempt = 0.5; Clock::now() < timeout.end; attempt = std::min(2 * attempt, 60.0)) {
    for (const std::string& address : target.addresses) {
      try {
        auto end = std::min(Clock::now() + seconds_of(attempt), timeout.end);
        return try_address(self, target, secret, address, end, timeout.end);
      } catch (const Error& error) {
        if (error.category() != Category::collective) throw;
        reason = error.what();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail(Category::collective, "{} did not reach {} at {} within {:g} s: {}", to_string(self.info),
       to_string(target.info), endpoints_text(target), timeout.seconds, reason);
}

std::vector<Socket> accept_peers(Acceptor& acceptor, const std::vector<PeerInfo>& peers, int first,
                                 JoinTimeout timeout) {
  std::vector<Socket> sockets(peers.size());
  std::vector<bool> joined(peers.size());
  std::fill_n(joined.begin(), first, true);
  while (std::ranges::count(joined, false) > 0) {
    auto connection = acceptor.next(timeout.end);
    if (!connection) {
      auto& own = peers[size_t(acceptor.credentials().rank)];
      auto where = fmt::format("{} at {}", to_string(own.info), endpoints_text(own));
      throw Error(Category::collective,
                  missing_ranks_text(joined, where, timeout.seconds, acceptor));
    }
    // An unexpected connection closes at the end of this iteration.
    const ConnectRequest& request = connection->request;
    auto rank = static_cast<size_t>(request.from);
    if (request.kind != ConnectRequest::Kind::peer || rank >= joined.size() || joined[rank])
      continue;
    sockets[rank] = std::move(connection->socket);
    joined[rank] = true;
  }
  return sockets;
}

// Each rank connects to all lower ones, which accept when they have done the same: rank 0 is the
// first to accept, so there is no cycle of waiting.
std::vector<Socket> connect_mesh(Acceptor& acceptor, const std::vector<PeerInfo>& peers,
                                 JoinTimeout timeout) {
  const Credentials& own = acceptor.credentials();
  auto self = static_cast<size_t>(own.rank);
  std::vector<Socket> lower;
  for (size_t rank = 0; rank < self; ++rank)
    lower.push_back(connect_to_peer(peers[self], peers[rank], own.secret, timeout));
  auto sockets = accept_peers(acceptor, peers, own.rank + 1, timeout);
  std::ranges::move(lower, sockets.begin());
  return sockets;
}

std::string missing_ranks_text(const std::vector<bool>& joined, const std::string& where,
                               double seconds, const Acceptor& acceptor) {
  std::vector<size_t> missing;
  for (size_t rank = 0; rank < joined.size(); ++rank) {
    if (!joined[rank]) missing.push_back(rank);
  }
  bool one = missing.size() == 1;
  return fmt::format(
      "{} {} of {} did not connect to {} within {:g} s: {} started, and can {} reach it?{}",
      one ? "rank" : "ranks", fmt::join(missing, ", "), joined.size(), where, seconds,
      one ? "is it" : "are they", one ? "it" : "they", acceptor.turned_away());
}

}  // namespace spire::inline process

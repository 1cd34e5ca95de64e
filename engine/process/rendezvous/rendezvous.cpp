#include "engine/process/rendezvous/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "engine/process/json_fields.h"
#include "engine/process/rendezvous/master_endpoint.h"
#include "engine/process/rendezvous/peer_mesh.h"

namespace spire::inline process {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 has the same timeout as the others: they wait a little longer for its reason.
constexpr auto slack = std::chrono::seconds(2);

// A rank that is denied for this long has another secret than rank 0. A single denial may come from
// an unknown process at rank 0's address, so it does not end the run.
constexpr auto max_denials = std::chrono::seconds(10);

uint64_t random_number() {
  Nonce bytes = random_nonce();
  uint64_t number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

Acceptor::Limits limits_for(int ranks) {
  Acceptor::Limits limits;
  limits.pending += static_cast<size_t>(ranks);
  return limits;
}

PeerInfo own_peer_info(const RankInfo& self, int size, const Interface& interface, int port) {
  PeerInfo peer;
  peer.info = self;
  peer.size = size;
  peer.port = port;
  peer.addresses = interface.advertised;
  return peer;
}

// Puts the address at which a rank was seen, or is known, before those that it advertises.
void prefer(PeerInfo& peer, const std::string& address) {
  bool known = std::ranges::find(peer.addresses, address) != peer.addresses.end();
  if (!address.empty() && !is_loopback(address) && !known)
    peer.addresses.insert(peer.addresses.begin(), address);
}

// Rank 0's side: accepts connections until each rank has joined once.
class Master {
 public:
  Master(Acceptor& acceptor, const Launch& launch, PeerInfo self)
      : acceptor_(acceptor), launch_(launch), sockets_(size_t(launch.size)) {
    table_.resize(sockets_.size());
    joined_.resize(sockets_.size());
    table_[0] = std::move(self);
    if (launch.store_key.empty()) prefer(table_[0], launch.master_address);
    joined_[0] = true;
  }

  void gather(JoinTimeout timeout) {
    try {
      while (std::ranges::count(joined_, false) > 0) receive_one(timeout);
      for (PeerInfo& peer : table_) peer.run = table_[0].run;
      answer({FrameKind::peer_table, to_json(table_)}, timeout.end + slack);
    } catch (const Error& error) {
      refuse(error);
      throw;
    }
  }
  const std::vector<PeerInfo>& table() const { return table_; }
  std::vector<Socket>& sockets() { return sockets_; }

 private:
  void receive_one(const JoinTimeout& timeout) {
    auto connection = acceptor_.next(timeout.end);
    if (!connection) {
      throw Error(Category::collective,
                  missing_ranks_text(joined_, master_name(launch_), timeout.seconds, acceptor_));
    }
    // A PeerInfo that does not fit its request is dropped: that rank will show as missing.
    auto peer = read_peer_info(connection->peer_info);
    if (!peer || peer->info.rank != connection->request.from) return;
    prefer(*peer, connection->socket.peer_address());
    enter(std::move(*peer), std::move(connection->socket));
  }

  void enter(PeerInfo peer, Socket socket) {
    auto rank = static_cast<size_t>(peer.info.rank);
    const RankInfo& info = peer.info;
    if (peer.size != launch_.size) {
      rejected_ = std::move(socket);
      fail(Category::config,
           "{} counts {} processes (WORLD_SIZE), {} counts {}: start all with the same number",
           to_string(info), peer.size, to_string(table_[0].info), launch_.size);
    }
    // A process that joins again has lost its first connection: the new one replaces it.
    const RankInfo& known = table_[rank].info;
    bool again = rank != 0 && info.host == known.host && info.pid == known.pid;
    if (joined_[rank] && !again) {
      rejected_ = std::move(socket);
      fail(Category::config,
           "two processes have the same rank {} (host {}, pid {}; host {}, pid {})", rank,
           known.host, known.pid, info.host, info.pid);
    }
    table_[rank] = std::move(peer);
    sockets_[rank] = std::move(socket);
    joined_[rank] = true;
  }

  void answer(const Frame& frame, Deadline deadline) {
    for (size_t rank = 1; rank < sockets_.size(); ++rank) {
      try {
        send_frame(sockets_[rank], frame, deadline);
      } catch (const Error& error) {
        fail(Category::collective, "{} went away while the ranks joined: {}",
             to_string(table_[rank].info), error.what());
      }
    }
  }

  // Sends the error to all that have joined. One that it does not reach is gone, or will see its
  // connection end.
  void refuse(const Error& error) noexcept {
    Frame frame{FrameKind::refusal,
                to_message({{"category", error.exit_code()}, {"message", error.what()}})};
    sockets_[0] = std::move(rejected_);
    for (Socket& socket : sockets_) {
      try {
        if (socket) send_frame(socket, frame, Clock::now() + slack);
      } catch (const Error&) {
      }
    }
  }

  Acceptor& acceptor_;
  const Launch& launch_;
  std::vector<PeerInfo> table_;
  std::vector<Socket> sockets_;  // by rank; the first stays empty
  std::vector<bool> joined_;
  Socket rejected_;  // of the process whose PeerInfo is the error
};

// Throws rank 0's error as this rank's own.
[[noreturn]] void throw_refusal(const std::string& json) {
  auto object = parse_message(json);
  JsonFields fields(object, 2);
  bool config = fields.integer("category") == static_cast<int>(Category::config);
  throw Error(config ? Category::config : Category::collective, fields.text("message"));
}

// The side of every other rank: connects to rank 0 until that answers.
class Joiner {
 public:
  Joiner(const Launch& launch, const RankInfo& self, JoinTimeout timeout)
      : launch_(launch), self_(self), timeout_(timeout) {}

  // A connection that ends without an answer may have led to what listened there before rank 0, so
  // every failure but rank 0's refusal is tried again.
  void join() {
    while (Clock::now() < timeout_.end) {
      if (attempt()) return;
      forget_old_denial();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (denied_since_) fail_denied();
    fail(Category::collective,
         "{}: no answer from rank 0 at {} within {:g} s: {}; check that rank 0 was started and "
         "that this host can reach it",
         to_string(self_), master_name(launch_), timeout_.seconds, reason_);
  }

  // The results of join().
  std::vector<PeerInfo> table;
  Socket to_master;
  std::optional<Listener> listener;  // for the ranks above this one
  std::string secret;

 private:
  bool attempt() try {
    auto master = find_master(launch_, soon());
    for (const std::string& address : master.addresses) {
      if (ask(address, master)) return true;
    }
    return false;
  } catch (const Error& error) {
    return retry_after(error);
  }

  // Two attempts without a denial clear former ones, which came from another process or from a
  // rank 0 that is gone. A single one does not: rank 0 may just have given up, or been busy.
  void forget_old_denial() {
    ++attempts_since_denial_;
    if (attempts_since_denial_ > 2 && Clock::now() < timeout_.end) denied_since_.reset();
  }

  // The deadline of each step until rank 0 has authenticated: a store's entry may be out of date,
  // and an address may lead to a process that stays silent.
  Deadline soon() const { return std::min(Clock::now() + std::chrono::seconds(5), timeout_.end); }

  bool ask(const std::string& address, const MasterEndpoint& master) try {
    Socket socket = connect_to(address, master.port, soon());
    ConnectRequest request{ConnectRequest::Kind::join, 0, launch_.rank, 0};
    authenticate(socket, master.secret, request, soon(), soon());
    // Rank 0 it is. The listener must exist before the PeerInfo that names its port is sent.
    denied_since_.reset();
    Interface interface = own_interface(socket);
    listener.emplace(0, interface.address);
    auto own = own_peer_info(self_, launch_.size, interface, listener->port());
    send_frame(socket, {FrameKind::peer_info, to_json(own)}, timeout_.end);
    secret = master.secret;
    Frame answer = receive_frame(socket, timeout_.end + slack);
    return take_answer(answer, std::move(socket));
  } catch (const Denied& error) {
    reason_ = error.what();
    attempts_since_denial_ = 0;
    if (!denied_since_) denied_since_ = Clock::now();
    if (Clock::now() - *denied_since_ >= max_denials) fail_denied();
    return false;
  } catch (const Error& error) {
    return retry_after(error);
  }

  // Keeps the reason of a failed attempt; throws it again if another attempt cannot go better.
  bool retry_after(const Error& error) {
    if (error.category() != Category::collective || refused_) throw;
    reason_ = error.what();
    return false;
  }

  Interface own_interface(const Socket& connection) const {
    bool here = launch_.one_host || names_this_machine(launch_.master_address);
    return here ? loopback_interface() : interface_of(connection);
  }

  bool take_answer(const Frame& frame, Socket socket) {
    refused_ = frame.kind == FrameKind::refusal;
    if (refused_) throw_refusal(frame.text);
    auto read = frame.kind == FrameKind::peer_table ? read_peer_table(frame.text) : std::nullopt;
    reason_ = "its answer cannot be understood";
    if (!read || read->size() != static_cast<size_t>(launch_.size)) return false;
    table = std::move(*read);
    to_master = std::move(socket);
    return true;
  }

  [[noreturn]] void fail_denied() const {
    fail(Category::config,
         "{}: rank 0 at {} has another secret: set SPIRE_SECRET to the same text for all ranks",
         to_string(self_), master_name(launch_));
  }

  const Launch& launch_;
  const RankInfo& self_;
  const JoinTimeout timeout_;
  std::optional<Clock::time_point> denied_since_;
  int attempts_since_denial_ = 0;
  bool refused_ = false;  // by rank 0: the run ends
  std::string reason_ = "no time";
};

std::vector<RankInfo> infos(const std::vector<PeerInfo>& table) {
  std::vector<RankInfo> ranks;
  ranks.reserve(table.size());
  for (const PeerInfo& peer : table) ranks.push_back(peer.info);
  return ranks;
}

ControlLink link_to(const std::vector<PeerInfo>& table, size_t rank, Socket socket) {
  const RankInfo& info = table[rank].info;
  return {info.rank, to_string(info), std::move(socket)};
}

// Returns rank 0's arms of the star.
std::vector<ControlLink> links_to_all(const std::vector<PeerInfo>& table,
                                      std::vector<Socket>& sockets) {
  std::vector<ControlLink> links;
  links.reserve(table.size());
  for (size_t rank = 1; rank < table.size(); ++rank)
    links.push_back(link_to(table, rank, std::move(sockets[rank])));
  return links;
}

// The connections over which the ranks joined become the control links; the mesh is made anew.
RendezvousResult join_as_master(const Launch& launch, const RankInfo& self, JoinTimeout timeout) {
  auto opened = listen_as_master(launch, timeout.end);
  auto own = own_peer_info(self, launch.size, opened.interface, opened.listener.port());
  own.run = random_number();
  Acceptor acceptor(std::move(opened.listener), {opened.secret, own.run, 0},
                    limits_for(launch.size));
  Master master(acceptor, launch, own);
  master.gather(timeout);
  RendezvousResult result;
  result.ranks = infos(master.table());
  result.links = links_to_all(master.table(), master.sockets());
  result.data = connect_mesh(acceptor, master.table(), JoinTimeout(timeout.seconds));
  return result;
}

RendezvousResult join_as_other(const Launch& launch, const RankInfo& self, JoinTimeout timeout) {
  Joiner joiner(launch, self, timeout);
  joiner.join();
  Acceptor acceptor(std::move(*joiner.listener), {joiner.secret, joiner.table[0].run, launch.rank},
                    limits_for(launch.size));
  RendezvousResult result;
  result.ranks = infos(joiner.table);
  result.links.push_back(link_to(joiner.table, 0, std::move(joiner.to_master)));
  result.data = connect_mesh(acceptor, joiner.table, JoinTimeout(timeout.seconds));
  return result;
}

// Returns a secret that rank 0 makes. MPI connects the ranks of one launch and nobody else, so its
// messages may carry it.
std::string share_secret(ProcessGroup& group) {
  return broadcast(group, group.rank() == 0 ? random_secret() : "");
}

// Tells whether all ranks have one loopback.
bool share_loopback(ProcessGroup& group) {
  std::string own = loopback_identity();
  auto all = all_gather(group, own);
  return !own.empty() && std::ranges::count(all, own) == group.size();
}

}  // namespace

RendezvousResult join_at_master(const Launch& launch, const RankInfo& self, double start_seconds) {
  JoinTimeout timeout(start_seconds);
  return launch.rank == 0 ? join_as_master(launch, self, timeout)
                          : join_as_other(launch, self, timeout);
}

RendezvousResult join_over_group(ProcessGroup& group, const RankInfo& self, double start_seconds) {
  Interface interface = share_loopback(group) ? loopback_interface() : all_interfaces();
  std::string secret = share_secret(group);
  std::optional<Listener> listener;  // of rank 0 alone: only the star is made
  if (group.rank() == 0) listener.emplace(0, interface.address);
  auto own = own_peer_info(self, group.size(), interface, listener ? listener->port() : 0);
  own.run = random_number();  // rank 0's counts
  std::vector<PeerInfo> table;
  for (const std::string& json : all_gather(group, to_json(own)))
    table.push_back(read_peer_info(json).value());
  for (PeerInfo& peer : table) peer.run = table[0].run;
  RendezvousResult result;
  JoinTimeout timeout(start_seconds);
  if (group.rank() == 0) {
    Acceptor acceptor(std::move(*listener), {secret, own.run, 0}, limits_for(group.size()));
    auto sockets = accept_peers(acceptor, table, 1, timeout);
    result.links = links_to_all(table, sockets);
  } else {
    auto& self_in_table = table[size_t(group.rank())];
    Socket socket = connect_to_peer(self_in_table, table[0], secret, timeout);
    result.links.push_back(link_to(table, 0, std::move(socket)));
  }
  result.ranks = infos(table);
  return result;
}

}  // namespace spire::inline process

#include "engine/process/rendezvous/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

#include "engine/process/json_fields.h"
#include "engine/process/rendezvous/master_endpoint.h"
#include "engine/process/rendezvous/peer_mesh.h"

// Rank 0 listens (master_endpoint.h), the others connect to it and send a PeerInfo, and it answers
// with the table of all. Then each rank connects to all lower ones (peer_mesh.h). Both ends of each
// connection authenticate first (handshake.h); an unknown peer is turned away and changes nothing.
namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 has the same timeout as the others: they wait a little longer for its reason.
constexpr auto slack = std::chrono::seconds(2);

// A rank that is denied for this long has another secret than rank 0. A single denial may come from
// an unknown process at rank 0's address, so it does not end the run.
constexpr auto max_denials = std::chrono::seconds(10);

// The longest step of an attempt until rank 0 has authenticated: a store's entry may be out of
// date, and an address may lead to a process that stays silent. The first attempts are shorter,
// since rank 0 may have several addresses of which only one can be reached from here.
constexpr std::chrono::milliseconds first_step{500}, longest_step{5000};
// Over MPI rank 0's address is current and may serve thousands of ranks at once.
constexpr std::chrono::milliseconds longest_current_step{60000};

Acceptor make_acceptor(Listener listener, const Credentials& credentials, int ranks) {
  Acceptor::Limits limits;
  limits.pending += static_cast<size_t>(ranks);
  return {std::move(listener), credentials, limits};
}

// Puts the address at which a rank was seen, or is known, before those that it advertises.
void prefer(PeerInfo& peer, const std::string& address) {
  bool known = std::ranges::find(peer.addresses, address) != peer.addresses.end();
  if (!address.empty() && !is_loopback(address) && !known)
    peer.addresses.insert(peer.addresses.begin(), address);
}

// All ranks, and the sockets between rank 0 and the others.
struct Star {
  std::vector<PeerInfo> table;  // by rank
  std::vector<Socket> sockets;  // by rank: on rank 0 to all others, on these to rank 0 alone

  explicit Star(int size) : table(size_t(size)), sockets(size_t(size)) {}
};

// The sockets become the control links.
RendezvousResult result_of(Star& star) {
  RendezvousResult result;
  for (size_t rank = 0; rank < star.table.size(); ++rank) {
    const RankInfo& info = result.ranks.emplace_back(star.table[rank].info);
    Socket& socket = star.sockets[rank];
    if (socket) result.links.push_back({info.rank, to_string(info), std::move(socket)});
  }
  return result;
}

// Rank 0's side: accepts connections until each rank has joined once.
class Master {
 public:
  Master(Acceptor& acceptor, PeerInfo self) : acceptor_(acceptor), star_(self.size) {
    star_.table[0] = std::move(self);
  }

  // where: rank 0's address, for messages.
  Star gather(const std::string& where, const JoinTimeout& timeout) {
    try {
      while (auto connection = accept_missing(acceptor_, star_.sockets, 1, where, timeout))
        enter(std::move(*connection));
      answer({FrameKind::peer_table, to_json(star_.table)}, timeout.end + slack);
      return std::move(star_);
    } catch (const Error& error) {
      refuse(error);
      throw;
    }
  }

 private:
  // Drops a PeerInfo that does not fit its request: that rank will show as missing. Puts the socket
  // into the empty row of rank 0 if the PeerInfo is an error, for refuse().
  void enter(Acceptor::Connection connection) {
    auto peer = read_peer_info(connection.peer_info);
    if (!peer || peer->info.rank != connection.request.from) return;
    prefer(*peer, connection.socket.peer_address());
    const RankInfo& info = peer->info;
    const PeerInfo& own = star_.table[0];
    if (peer->size != own.size) {
      star_.sockets[0] = std::move(connection.socket);
      fail(Category::config,
           "{} counts {} processes (WORLD_SIZE), {} counts {}: start all with the same number",
           to_string(info), peer->size, to_string(own.info), own.size);
    }
    // A process that joins again has lost its first connection: the new one replaces it.
    auto rank = static_cast<size_t>(info.rank);
    const RankInfo& known = star_.table[rank].info;
    bool again = info.host == known.host && info.pid == known.pid;
    if (rank == 0 || (star_.sockets[rank] && !again)) {
      star_.sockets[0] = std::move(connection.socket);
      fail(Category::config,
           "two processes have the same rank {} (host {}, pid {}; host {}, pid {})", rank,
           known.host, known.pid, info.host, info.pid);
    }
    star_.table[rank] = std::move(*peer);
    star_.sockets[rank] = std::move(connection.socket);
  }

  void answer(const Frame& frame, Deadline deadline) {
    for (size_t rank = 1; rank < star_.sockets.size(); ++rank) {
      try {
        send_frame(star_.sockets[rank], frame, deadline);
      } catch (const Error& error) {
        fail(Category::collective, "{} went away while the ranks joined: {}",
             to_string(star_.table[rank].info), error.what());
      }
    }
  }

  // Sends the error to all that have joined. One that it does not reach is gone, or will see its
  // connection end.
  void refuse(const Error& error) noexcept {
    Frame frame{FrameKind::refusal,
                to_message({{"category", error.exit_code()}, {"message", error.what()}})};
    for (Socket& socket : star_.sockets) {
      try {
        if (socket) send_frame(socket, frame, Clock::now() + slack);
      } catch (const Error&) {
      }
    }
  }

  Acceptor& acceptor_;
  Star star_;
};

// Returns the error of rank 0 that Master::refuse() sends; nullopt for any other text.
std::optional<Error> read_refusal(const std::string& json) try {
  auto object = parse_message(json);
  JsonFields fields(object, 2);
  bool config = fields.integer("category") == static_cast<int>(Category::config);
  return Error(config ? Category::config : Category::collective, fields.text("message"));
} catch (const Error&) {
  return {};
}

// The side of every other rank: connects to rank 0 until that answers.
class Joiner {
 public:
  // How rank 0 is found, and whether this rank listens for the ranks above it.
  struct Options {
    std::string where;  // rank 0's address, for messages
    std::function<MasterEndpoint(Deadline)> find;
    bool listens = false;
    bool loopback = false;  // all ranks are on this machine
    bool current = false;   // the address and the secret are rank 0's of this run for sure
  };
  Joiner(const RankInfo& self, int size, Options options, const JoinTimeout& timeout)
      : star(size), options_(std::move(options)), timeout_(timeout), self_{self, size, 0, {}, 0} {}

  // A connection that ends without an answer may have led to what listened there before rank 0, so
  // every failure but rank 0's refusal is tried again.
  void join() {
    for (; Clock::now() < timeout_.end; step_ = std::min(2 * step_, longest())) {
      if (attempt()) return;
      // Two attempts without a denial clear former ones, which came from another process or from a
      // rank 0 that is gone. A single one does not: rank 0 may just have given up, or been busy.
      if (++attempts_since_denial_ > 2 && Clock::now() < timeout_.end) denied_since_.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (denied_since_) fail_denied();
    fail(Category::collective,
         "{}: no answer from rank 0 at {} within {:g} s: {}; check that rank 0 was started and "
         "that this host can reach it",
         to_string(self_.info), options_.where, timeout_.seconds, reason_);
  }

  // The results of join().
  Star star;
  std::optional<Listener> listener;
  std::string secret;

 private:
  bool attempt() {
    MasterEndpoint master;
    bool found = succeeds([&] { master = options_.find(soon()); });
    return found && std::ranges::any_of(master.addresses, [&](const std::string& address) {
             return succeeds([&] { ask(address, master); });
           });
  }

  // Runs a part of an attempt and keeps the reason of its failure; throws it again if another
  // attempt cannot go better.
  template <typename Part>
  bool succeeds(const Part& part) try {
    part();
    return true;
  } catch (const Denied& error) {
    reason_ = error.what();
    if (options_.current) return false;  // another process answers at one of the addresses
    attempts_since_denial_ = 0;
    if (!denied_since_) denied_since_ = Clock::now();
    if (Clock::now() - *denied_since_ >= max_denials) fail_denied();
    return false;
  } catch (const Error& error) {
    if (error.category() != Category::collective || answered_) throw;
    reason_ = error.what();
    return false;
  }

  std::chrono::milliseconds longest() const {
    return options_.current ? longest_current_step : longest_step;
  }
  Deadline soon() const { return std::min(Clock::now() + step_, timeout_.end); }

  void ask(const std::string& address, const MasterEndpoint& master) {
    Socket socket = connect_to(address, master.port, soon());
    ConnectRequest request{ConnectRequest::Kind::join, 0, self_.info.rank, 0};
    authenticate(socket, master.secret, request, soon(), options_.current ? timeout_.end : soon());
    // Rank 0 it is. The listener must exist before the PeerInfo that names its port is sent.
    denied_since_.reset();
    if (options_.listens) {
      Interface interface = options_.loopback ? loopback_interface() : interface_of(socket);
      listener.emplace(0, interface.address);
      self_.port = listener->port();
      self_.addresses = interface.advertised;
    }
    send_frame(socket, {FrameKind::peer_info, to_json(self_)}, timeout_.end);
    take_answer(receive_frame(socket, timeout_.end + slack));
    star.sockets[0] = std::move(socket);
    secret = master.secret;
  }

  // Throws rank 0's error as this rank's own.
  void take_answer(const Frame& frame) {
    answered_ = true;  // by rank 0 of this run: no other attempt goes better
    auto refusal = frame.kind == FrameKind::refusal ? read_refusal(frame.text) : std::nullopt;
    if (refusal) throw *refusal;
    auto table = frame.kind == FrameKind::peer_table ? read_peer_table(frame.text) : std::nullopt;
    if (!table || table->size() != star.table.size())
      fail(Category::collective,
           "{}: the answer of rank 0 at {} cannot be understood; start all ranks with one build of "
           "Spire",
           to_string(self_.info), options_.where);
    star.table = std::move(*table);
  }

  [[noreturn]] void fail_denied() const {
    fail(Category::config,
         "{}: rank 0 at {} has another secret: set SPIRE_SECRET to the same text for all ranks",
         to_string(self_.info), options_.where);
  }

  const Options options_;
  const JoinTimeout timeout_;
  PeerInfo self_;
  std::chrono::milliseconds step_ = first_step;
  std::optional<Clock::time_point> denied_since_;
  int attempts_since_denial_ = 0;
  bool answered_ = false;  // rank 0 has answered: its table, its refusal, or nonsense
  std::string reason_ = "no time";
};

// The connections over which the ranks joined become the control links; the mesh is made anew, and
// has a time of its own.
RendezvousResult with_mesh(Star& star, Acceptor acceptor, const JoinTimeout& timeout) {
  RendezvousResult result = result_of(star);
  result.data = connect_mesh(acceptor, star.table, JoinTimeout(timeout.seconds));
  return result;
}

RendezvousResult join_as_master(const Launch& launch, const RankInfo& self,
                                const JoinTimeout& timeout) {
  auto [interface, listener, secret] = listen_as_master(launch, timeout.end);
  PeerInfo own{self, launch.size, listener.port(), interface.advertised, random_number()};
  if (launch.store_key.empty()) prefer(own, launch.master_address);
  Acceptor acceptor = make_acceptor(std::move(listener), {secret, own.run, 0}, launch.size);
  Star star = Master(acceptor, std::move(own)).gather(master_name(launch), timeout);
  return with_mesh(star, std::move(acceptor), timeout);
}

RendezvousResult join_as_other(const Launch& launch, const RankInfo& self,
                               const JoinTimeout& timeout) {
  Joiner::Options options;
  options.where = master_name(launch);
  options.find = [&](Deadline deadline) { return find_master(launch, deadline); };
  options.listens = true;
  options.loopback = launch.one_host || names_this_machine(launch.master_address);
  Joiner joiner(self, launch.size, options, timeout);
  joiner.join();
  Credentials own{joiner.secret, joiner.star.table[0].run, self.rank};
  Acceptor acceptor = make_acceptor(std::move(*joiner.listener), own, launch.size);
  return with_mesh(joiner.star, std::move(acceptor), timeout);
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

// MPI connects the ranks of one launch and nobody else, so its messages may carry the secret.
RendezvousResult join_over_group(ProcessGroup& group, const RankInfo& self, double start_seconds) {
  Interface interface = share_loopback(group) ? loopback_interface() : all_interfaces();
  if (group.rank() == 0) {
    Listener listener(0, interface.address);
    MasterEndpoint endpoint{interface.advertised, listener.port(), random_secret()};
    broadcast(group, to_json(endpoint));
    PeerInfo own{self, group.size(), endpoint.port, endpoint.addresses, random_number()};
    Acceptor acceptor =
        make_acceptor(std::move(listener), {endpoint.secret, own.run, 0}, group.size());
    std::string where =
        fmt::format("{} (host {}, pid {})", endpoints_text(endpoint.addresses, endpoint.port),
                    self.host, self.pid);
    broadcast(group, where);
    Star star = Master(acceptor, std::move(own)).gather(where, JoinTimeout(start_seconds));
    return result_of(star);
  }
  MasterEndpoint master = read_endpoint(broadcast(group, "")).value();
  Joiner::Options options;
  options.where = broadcast(group, "");
  options.find = [&](Deadline) { return master; };
  options.current = true;
  Joiner joiner(self, group.size(), options, JoinTimeout(start_seconds));
  joiner.join();
  return result_of(joiner.star);
}

}  // namespace spire

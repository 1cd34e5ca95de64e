#include "engine/process/rendezvous/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>

#include "engine/process/group/neighbours.h"
#include "engine/process/rendezvous/meeting_place.h"
#include "engine/process/rendezvous/secret.h"

namespace spire::inline process {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 says why it gave up, and has as long as we: its words should come before our own end.
constexpr auto slack = std::chrono::seconds(2);

// Who is denied again and again has been given another secret than rank 0. Only a person can tell
// whether that was rank 0 or a stranger in its place, so the run does not end at the first time.
constexpr auto max_denials = std::chrono::seconds(10);

uint64_t random_number() {
  Nonce bytes = random_nonce();
  uint64_t number;
  std::memcpy(&number, bytes.data(), sizeof number);
  return number;
}

Acceptor::Limits limits_for(int ranks) {
  Acceptor::Limits limits;
  limits.callers += static_cast<size_t>(ranks);
  return limits;
}

PeerInfo own_hello(const RankInfo& self, int size, const Interface& interface, int port) {
  PeerInfo hello;
  hello.info = self;
  hello.size = size;
  hello.port = port;
  hello.addresses = interface.told;
  return hello;
}

// The address under which somebody was seen, or is known, before those it knows itself.
void prefer(PeerInfo& hello, const std::string& address) {
  bool known = std::ranges::find(hello.addresses, address) != hello.addresses.end();
  if (!address.empty() && !is_loopback(address) && !known)
    hello.addresses.insert(hello.addresses.begin(), address);
}

// Rank 0's side: hears out all who come, until each rank is there once.
class Master {
 public:
  Master(Acceptor& reception, const Launch& launch, PeerInfo self)
      : reception_(reception), launch_(launch), sockets_(size_t(launch.size)) {
    table_.resize(sockets_.size());
    come_.resize(sockets_.size());
    table_[0] = std::move(self);
    if (launch.store_key.empty()) prefer(table_[0], launch.master_address);
    come_[0] = true;
  }

  void gather(Patience patience) {
    try {
      while (std::ranges::count(come_, false) > 0) receive_one(patience);
      for (PeerInfo& hello : table_) hello.run = table_[0].run;
      answer({FrameKind::table, to_text(table_)}, patience.end + slack);
    } catch (const Error& error) {
      refuse(error);
      throw;
    }
  }
  const std::vector<PeerInfo>& table() const { return table_; }
  std::vector<Socket>& sockets() { return sockets_; }

 private:
  void receive_one(const Patience& patience) {
    auto visitor = reception_.next(patience.end);
    if (!visitor) {
      throw Error(Category::collective,
                  not_come(come_, described_place(launch_), patience.seconds, reception_));
    }
    auto hello = read_hello(visitor->hello);
    if (!hello || hello->info.rank != visitor->route.from) return;
    prefer(*hello, visitor->socket.peer_address());
    enter(std::move(*hello), std::move(visitor->socket));
  }

  // A process that asks again has lost its first connection: the new one takes its place.
  void enter(PeerInfo hello, Socket socket) {
    auto rank = static_cast<size_t>(hello.info.rank);
    const RankInfo& info = hello.info;
    if (hello.size != launch_.size) {
      late_ = std::move(socket);
      fail(Category::config,
           "{} counts {} processes (WORLD_SIZE), {} counts {}: start all with the same number",
           to_string(info), hello.size, to_string(table_[0].info), launch_.size);
    }
    const RankInfo& known = table_[rank].info;
    bool again = rank != 0 && info.host == known.host && info.pid == known.pid;
    if (come_[rank] && !again) {
      late_ = std::move(socket);
      fail(Category::config,
           "two processes have the same rank {} (host {}, pid {}; host {}, pid {})", rank,
           known.host, known.pid, info.host, info.pid);
    }
    table_[rank] = std::move(hello);
    sockets_[rank] = std::move(socket);
    come_[rank] = true;
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

  // Whom it does not reach is gone, or will see the connection end.
  void refuse(const Error& error) noexcept {
    Frame frame{FrameKind::refusal, fmt::format("{} {}", error.exit_code(), error.what())};
    sockets_[0] = std::move(late_);
    for (Socket& socket : sockets_) {
      try {
        if (socket) send_frame(socket, frame, Clock::now() + slack);
      } catch (const Error&) {
      }
    }
  }

  Acceptor& reception_;
  const Launch& launch_;
  std::vector<PeerInfo> table_;
  std::vector<Socket> sockets_;  // by rank; the first stays empty
  std::vector<bool> come_;
  Socket late_;  // of the one whose hello was refused
};

// Rank 0's error as if it were our own.
[[noreturn]] void throw_refusal(const std::string& text) {
  int category = 0, length = 0;
  std::sscanf(text.c_str(), "%d %n", &category, &length);
  bool config = category == static_cast<int>(Category::config);
  throw Error(config ? Category::config : Category::collective,
              text.substr(static_cast<size_t>(length)));
}

// A rank's side, other than rank 0's: asks until it is answered.
class Joiner {
 public:
  Joiner(const Launch& launch, const RankInfo& self, Patience patience)
      : launch_(launch), self_(self), patience_(patience) {}

  // A connection that ends without an answer may have been to what listened there before rank 0, so
  // it is tried again.
  void join() {
    while (Clock::now() < patience_.end) {
      if (attempt()) return;
      forget_old_denial();
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    if (denied_since_) fail_denied();
    fail(Category::collective,
         "{}: no answer from rank 0 at {} within {:g} s: {}; check that rank 0 was started and "
         "that this host can reach it",
         to_string(self_), described_place(launch_), patience_.seconds, reason_);
  }

  // After join(): what it led to.
  std::vector<PeerInfo> table;
  Socket to_master;
  std::optional<Listener> listener;  // for the ranks above this one
  std::string secret;

 private:
  bool attempt() try {
    auto place = find_place(launch_, soon());
    for (const std::string& address : place.addresses) {
      if (ask(address, place)) return true;
    }
    return false;
  } catch (const Error& error) {
    if (error.category() != Category::collective || refused_) throw;
    reason_ = error.what();
    return false;
  }

  // A denial that no others follow was a stranger's, or of a rank 0 that is gone. One attempt
  // without any says nothing: it may have met rank 0 as that gave up, or have had no time.
  void forget_old_denial() {
    ++attempts_since_denial_;
    if (attempts_since_denial_ > 2 && Clock::now() < patience_.end) denied_since_.reset();
  }

  // A place in a store may be out of date, and an address lead elsewhere: who is silent is not
  // waited for, before it has proved to be rank 0.
  Deadline soon() const { return std::min(Clock::now() + std::chrono::seconds(5), patience_.end); }

  bool ask(const std::string& address, const MeetingPlace& place) try {
    Socket socket = connect_to(address, place.port, soon());
    introduce(socket, place.secret, {Route::Kind::join, 0, launch_.rank, 0}, soon(), soon());
    denied_since_.reset();
    Interface interface = own_interface(socket);
    listener.emplace(0, interface.address);
    auto hello = own_hello(self_, launch_.size, interface, listener->port());
    send_frame(socket, {FrameKind::hello, to_text(hello)}, patience_.end);
    secret = place.secret;
    Frame answer = receive_frame(socket, patience_.end + slack);
    return take_answer(answer, std::move(socket));
  } catch (const Denied& error) {
    reason_ = error.what();
    attempts_since_denial_ = 0;
    if (!denied_since_) denied_since_ = Clock::now();
    if (Clock::now() - *denied_since_ >= max_denials) fail_denied();
    return false;
  } catch (const Error& error) {
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
    auto read = frame.kind == FrameKind::table ? read_table(frame.text) : std::nullopt;
    reason_ = "its answer cannot be understood";
    if (!read || read->size() != static_cast<size_t>(launch_.size)) return false;
    table = std::move(*read);
    to_master = std::move(socket);
    return true;
  }

  [[noreturn]] void fail_denied() const {
    fail(Category::config,
         "{}: rank 0 at {} has another secret: set SPIRE_SECRET to the same text for all ranks",
         to_string(self_), described_place(launch_));
  }

  const Launch& launch_;
  const RankInfo& self_;
  const Patience patience_;
  std::optional<Clock::time_point> denied_since_;
  int attempts_since_denial_ = 0;
  bool refused_ = false;  // by rank 0, for all to end
  std::string reason_ = "no time";
};

std::vector<RankInfo> infos(const std::vector<PeerInfo>& table) {
  std::vector<RankInfo> ranks;
  ranks.reserve(table.size());
  for (const PeerInfo& hello : table) ranks.push_back(hello.info);
  return ranks;
}

ControlLink link_to(const std::vector<PeerInfo>& table, size_t rank, Socket socket) {
  const RankInfo& info = table[rank].info;
  return {info.rank, to_string(info), std::move(socket)};
}

std::vector<ControlLink> links_of_middle(const std::vector<PeerInfo>& table,
                                         std::vector<Socket>& sockets) {
  std::vector<ControlLink> links;
  links.reserve(table.size());
  for (size_t rank = 1; rank < table.size(); ++rank)
    links.push_back(link_to(table, rank, std::move(sockets[rank])));
  return links;
}

// Each to all lower ranks, which answer when they have done the same: rank 0 begins.
std::vector<Socket> connect_all(Acceptor& reception, const std::vector<PeerInfo>& table,
                                double seconds) {
  Patience patience(seconds);
  const Badge& badge = reception.badge();
  auto self = static_cast<size_t>(badge.rank);
  std::vector<Socket> lower;
  for (size_t rank = 0; rank < self; ++rank)
    lower.push_back(connect_to_rank(table[self], table[rank], badge.secret, patience));
  auto sockets = accept_ranks(reception, table, badge.rank + 1, patience);
  std::ranges::move(lower, sockets.begin());
  return sockets;
}

// Rank 0's part, and that of the others.
RendezvousResult meet_as_master(const Launch& launch, const RankInfo& self, Patience patience) {
  auto place = open_place(launch, patience.end);
  auto hello = own_hello(self, launch.size, place.interface, place.listener.port());
  hello.run = random_number();
  Acceptor reception(std::move(place.listener), {place.secret, hello.run, 0},
                     limits_for(launch.size));
  Master master(reception, launch, hello);
  master.gather(patience);
  RendezvousResult meeting;
  meeting.ranks = infos(master.table());
  meeting.links = links_of_middle(master.table(), master.sockets());
  meeting.data = connect_all(reception, master.table(), patience.seconds);
  return meeting;
}

RendezvousResult meet_as_joiner(const Launch& launch, const RankInfo& self, Patience patience) {
  Joiner joiner(launch, self, patience);
  joiner.join();
  Acceptor reception(std::move(*joiner.listener), {joiner.secret, joiner.table[0].run, launch.rank},
                     limits_for(launch.size));
  RendezvousResult meeting;
  meeting.ranks = infos(joiner.table);
  meeting.links.push_back(link_to(joiner.table, 0, std::move(joiner.to_master)));
  meeting.data = connect_all(reception, joiner.table, patience.seconds);
  return meeting;
}

// MPI has joined the ranks of a launcher and nobody else, so what it carries may hold the secret.
std::string secret_from_master(ProcessGroup& group) {
  return broadcast(group, group.rank() == 0 ? random_secret() : "");
}

// Whether all ranks have one loopback.
bool share_loopback(ProcessGroup& group) {
  std::string own = loopback_identity();
  auto all = all_gather(group, own);
  return !own.empty() && std::ranges::count(all, own) == group.size();
}

}  // namespace

RendezvousResult meet_at_master(const Launch& launch, const RankInfo& self, double start_seconds) {
  Patience patience(start_seconds);
  return launch.rank == 0 ? meet_as_master(launch, self, patience)
                          : meet_as_joiner(launch, self, patience);
}

RendezvousResult meet_through(ProcessGroup& group, const RankInfo& self, double start_seconds) {
  Interface interface = share_loopback(group) ? loopback_interface() : all_interfaces();
  std::string secret = secret_from_master(group);
  std::optional<Listener> listener;  // of rank 0 alone: only the star is made
  if (group.rank() == 0) listener.emplace(0, interface.address);
  auto hello = own_hello(self, group.size(), interface, listener ? listener->port() : 0);
  hello.run = random_number();  // rank 0's counts
  std::vector<PeerInfo> table;
  for (const std::string& line : all_gather(group, to_text(hello)))
    table.push_back(read_hello(line).value());
  for (PeerInfo& each : table) each.run = table[0].run;
  RendezvousResult meeting;
  Patience patience(start_seconds);
  if (group.rank() == 0) {
    Acceptor reception(std::move(*listener), {secret, hello.run, 0}, limits_for(group.size()));
    auto sockets = accept_ranks(reception, table, 1, patience);
    meeting.links = links_of_middle(table, sockets);
  } else {
    auto& own = table[size_t(group.rank())];
    meeting.links.push_back(link_to(table, 0, connect_to_rank(own, table[0], secret, patience)));
  }
  meeting.ranks = infos(table);
  return meeting;
}

}  // namespace spire::inline process

#include <spire/process/rendezvous.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <thread>

#include <spire/process/neighbours.h>

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

// Rank 0 says why it gave up, and has as long as we: its words should come before our own end.
constexpr auto slack = std::chrono::seconds(2);

uint64_t random_token() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

Hello own_hello(const RankInfo& self, int size, int port) {
  Hello hello;
  hello.info = self;
  hello.size = size;
  hello.port = port;
  hello.addresses = own_addresses();
  return hello;
}

// The address under which somebody was seen, or is known, before those it knows itself.
void prefer(Hello& hello, const std::string& address) {
  bool loopback = address.starts_with("127.");
  if (!address.empty() && !loopback) hello.addresses.insert(hello.addresses.begin(), address);
}

// Rank 0's side: hears out all who come, until each rank is there once.
class Master {
 public:
  Master(Reception& reception, const Launch& launch, const RankInfo& self)
      : reception_(reception), launch_(launch), sockets_(size_t(launch.size)) {
    table_.resize(sockets_.size());
    come_.resize(sockets_.size());
    table_[0] = own_hello(self, launch.size, reception.port());
    table_[0].token = random_token();
    prefer(table_[0], launch.master_address);
    come_[0] = true;
  }

  void gather(Patience patience) {
    try {
      while (std::ranges::count(come_, false) > 0) receive_one(patience);
      for (Hello& hello : table_) hello.token = table_[0].token;
      answer({FrameKind::table, to_text(table_)}, patience.end + slack);
    } catch (const Error& error) {
      refuse(error);
      throw;
    }
  }
  const std::vector<Hello>& table() const { return table_; }
  std::vector<Socket>& sockets() { return sockets_; }

 private:
  void receive_one(const Patience& patience) {
    auto visitor = reception_.next(patience.end);
    if (!visitor) {
      auto where = fmt::format("{}:{}", launch_.master_address, launch_.master_port);
      throw Error(Category::collective,
                  not_come(come_, where, patience.seconds, reception_.dropped()));
    }
    auto hello = read_hello(visitor->frame.text);
    if (visitor->frame.kind != FrameKind::hello || !hello) return;
    prefer(*hello, visitor->socket.peer_address());
    enter(std::move(*hello), std::move(visitor->socket));
  }

  // A process that asks again has lost its first connection: the new one takes its place.
  void enter(Hello hello, Socket socket) {
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

  Reception& reception_;
  const Launch& launch_;
  std::vector<Hello> table_;
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

// One attempt to hear rank 0's answer; nothing, and the reason, when there is none.
std::optional<Frame> ask_master(const Launch& launch, const Hello& self, const Patience& patience,
                                Socket& socket, std::string& reason) {
  try {
    socket = connect_to(launch.master_address, launch.master_port, patience.end);
    send_frame(socket, {FrameKind::hello, to_text(self)}, patience.end);
    Frame frame = receive_frame(socket, patience.end + slack);
    if (frame.kind == FrameKind::table || frame.kind == FrameKind::refusal) return frame;
    reason = "another program answers";
  } catch (const Error& error) {
    if (error.category() != Category::collective) throw;
    reason = error.what();
  }
  return {};
}

// The table, and the connection to rank 0 that it came by. A connection that ends without an answer
// may have been to what listened there before rank 0, so it is tried again.
std::pair<std::vector<Hello>, Socket> come_to_master(const Launch& launch, const Hello& self,
                                                     Patience patience) {
  std::string reason = "the time was up";
  while (Clock::now() < patience.end) {
    Socket socket;
    auto frame = ask_master(launch, self, patience, socket, reason);
    if (frame && frame->kind == FrameKind::refusal) throw_refusal(frame->text);
    if (frame) {
      auto table = read_table(frame->text);
      if (table && table->size() == static_cast<size_t>(launch.size))
        return {std::move(*table), std::move(socket)};
      reason = "its answer cannot be understood";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  fail(Category::collective,
       "{}: no answer from rank 0 at {}:{} within {:g} s: {}; check that rank 0 was started and "
       "that this host can reach it",
       to_string(self.info), launch.master_address, launch.master_port, patience.seconds, reason);
}

std::vector<RankInfo> infos(const std::vector<Hello>& table) {
  std::vector<RankInfo> ranks;
  ranks.reserve(table.size());
  for (const Hello& hello : table) ranks.push_back(hello.info);
  return ranks;
}

ControlLink link_to(const std::vector<Hello>& table, size_t rank, Socket socket) {
  const RankInfo& info = table[rank].info;
  return {info.rank, to_string(info), std::move(socket)};
}

std::vector<ControlLink> links_of_middle(const std::vector<Hello>& table,
                                         std::vector<Socket>& sockets) {
  std::vector<ControlLink> links;
  links.reserve(table.size());
  for (size_t rank = 1; rank < table.size(); ++rank)
    links.push_back(link_to(table, rank, std::move(sockets[rank])));
  return links;
}

// Each to all lower ranks, which answer when they have done the same: rank 0 begins.
std::vector<Socket> connect_all(Reception& reception, const std::vector<Hello>& table, int self,
                                double seconds) {
  Patience patience(seconds);
  std::vector<Socket> lower;
  for (int rank = 0; rank < self; ++rank)
    lower.push_back(connect_to_rank(table[size_t(self)], table[size_t(rank)], patience));
  auto sockets = accept_ranks(reception, table, self, self + 1, patience);
  std::ranges::move(lower, sockets.begin());
  return sockets;
}

}  // namespace

Meeting meet_at_master(const Launch& launch, const RankInfo& self, double start_seconds) {
  Meeting meeting;
  Patience patience(start_seconds);
  Reception reception(launch.rank == 0 ? launch.master_port : 0);
  std::vector<Hello> table;
  if (launch.rank == 0) {
    Master master(reception, launch, self);
    master.gather(patience);
    table = master.table();
    meeting.links = links_of_middle(table, master.sockets());
  } else {
    auto hello = own_hello(self, launch.size, reception.port());
    auto [received, socket] = come_to_master(launch, hello, patience);
    table = std::move(received);
    meeting.links.push_back(link_to(table, 0, std::move(socket)));
  }
  meeting.ranks = infos(table);
  meeting.data = connect_all(reception, table, launch.rank, start_seconds);
  return meeting;
}

Meeting meet_through(ProcessGroup& group, const RankInfo& self, double start_seconds) {
  Meeting meeting;
  Reception reception(0);
  auto hello = own_hello(self, group.size(), reception.port());
  hello.token = random_token();
  std::vector<Hello> table;
  for (const std::string& line : all_gather(group, to_text(hello)))
    table.push_back(read_hello(line).value());
  // The others take rank 0's token from the table, so that theirs are of no use.
  Patience patience(start_seconds);
  if (group.rank() == 0) {
    auto sockets = accept_ranks(reception, table, 0, 1, patience);
    meeting.links = links_of_middle(table, sockets);
  } else {
    auto& own = table[size_t(group.rank())];
    meeting.links.push_back(link_to(table, 0, connect_to_rank(own, table[0], patience)));
  }
  meeting.ranks = infos(table);
  return meeting;
}

}  // namespace spire

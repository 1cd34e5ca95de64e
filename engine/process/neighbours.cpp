#include <spire/base/message_words.h>
#include <spire/process/neighbours.h>

#include <algorithm>
#include <chrono>

namespace spire {
namespace {

using Clock = std::chrono::steady_clock;

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// What opens a connection between ranks: only who has the token belongs to the run.
std::string peer_text(uint64_t token, int from, int to) {
  return fmt::format("{} {} {}", token, from, to);
}

std::string places(const Hello& hello) {
  std::vector<std::string> list;
  for (auto& address : hello.addresses) list.push_back(fmt::format("{}:{}", address, hello.port));
  return fmt::format("{}", fmt::join(list, ", "));
}

// The other end answers only if it is the rank that was meant: an address may lead elsewhere.
Socket try_address(const Hello& self, const Hello& target, const std::string& address,
                   Deadline connected, Deadline answered) {
  Socket socket = connect_to(address, target.port, connected);
  Frame frame{FrameKind::peer, peer_text(target.token, self.info.rank, target.info.rank)};
  send_frame(socket, frame, answered);
  if (receive_frame(socket, answered).kind != FrameKind::welcome)
    fail(Category::collective, "{}:{} belongs to another program", address, target.port);
  return socket;
}

std::string missing_ranks(const std::vector<bool>& come) {
  std::vector<size_t> missing;
  for (size_t rank = 0; rank < come.size(); ++rank) {
    if (!come[rank]) missing.push_back(rank);
  }
  return fmt::format("{} {} of {}", missing.size() == 1 ? "rank" : "ranks",
                     fmt::join(missing, ", "), come.size());
}

}  // namespace

Patience::Patience(double limit) : seconds(limit), end(Clock::now() + seconds_of(limit)) {}

Socket connect_to_rank(const Hello& self, const Hello& target, Patience patience) {
  std::string reason = "it has no address";
  // The target listens already, so an address that leads to it answers soon; the others may be
  // silent, and are given more time in each round.
  for (double attempt = 0.5; Clock::now() < patience.end; attempt *= 2) {
    for (const std::string& address : target.addresses) {
      try {
        auto connected = std::min(Clock::now() + seconds_of(attempt), patience.end);
        return try_address(self, target, address, connected, patience.end);
      } catch (const Error& error) {
        if (error.category() != Category::collective) throw;
        reason = error.what();
      }
    }
  }
  fail(Category::collective, "{} did not reach {} at {} within {:g} s: {}", to_string(self.info),
       to_string(target.info), places(target), patience.seconds, reason);
}

std::vector<Socket> accept_ranks(Reception& reception, const std::vector<Hello>& table, int self,
                                 int first, Patience patience) {
  std::vector<Socket> sockets(table.size());
  std::vector<bool> come(table.size());
  std::fill_n(come.begin(), first, true);
  while (std::ranges::count(come, false) > 0) {
    auto visitor = reception.next(patience.end);
    if (!visitor) {
      auto& own = table[size_t(self)];
      auto where = fmt::format("{} at {}", to_string(own.info), places(own));
      throw Error(Category::collective,
                  not_come(come, where, patience.seconds, reception.dropped()));
    }
    // A visitor that is none of the expected ranks is let go: its connection ends with this turn.
    for (size_t rank = static_cast<size_t>(first); rank < table.size(); ++rank) {
      auto expected = peer_text(table[size_t(self)].token, static_cast<int>(rank), self);
      if (come[rank] || visitor->frame.kind != FrameKind::peer || visitor->frame.text != expected)
        continue;
      send_frame(visitor->socket, {FrameKind::welcome, ""}, patience.end);
      sockets[rank] = std::move(visitor->socket);
      come[rank] = true;
      break;
    }
  }
  return sockets;
}

std::string not_come(const std::vector<bool>& come, const std::string& where, double seconds,
                     int dropped) {
  bool one = std::ranges::count(come, false) == 1;
  auto text = fmt::format(
      "{} did not connect to {} within {:g} s: {} started, and can {} reach it?",
      missing_ranks(come), where, seconds, one ? "is it" : "are they", one ? "it" : "they");
  if (dropped > 0)
    text += fmt::format(" ({} from other programs, dropped)", counted(dropped, "connection"));
  return text;
}

}  // namespace spire

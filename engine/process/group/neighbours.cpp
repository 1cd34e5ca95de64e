#include "engine/process/group/neighbours.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/base/message_words.h"

namespace spire::inline process {
namespace {

using Clock = std::chrono::steady_clock;

std::string places(const PeerInfo& hello) {
  std::vector<std::string> list;
  for (auto& address : hello.addresses) list.push_back(fmt::format("{}:{}", address, hello.port));
  return fmt::format("{}", fmt::join(list, ", "));
}

// An address may lead to somebody else, who gets no answer out of us. The target answers when it
// has come as far as to accept ranks, which may take as long as it may.
Socket try_address(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                   const std::string& address, Deadline attempt, Deadline end) {
  Socket socket = connect_to(address, target.port, attempt);
  introduce(socket, secret, {Route::Kind::peer, target.run, self.info.rank, target.info.rank},
            attempt, end);
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

Clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

Patience::Patience(double limit) : seconds(limit), end(Clock::now() + seconds_of(limit)) {}

Socket connect_to_rank(const PeerInfo& self, const PeerInfo& target, const std::string& secret,
                       Patience patience) {
  std::string reason = "it has no address";
  // The target listens already, so an address that leads to it answers soon; the others may be
  // silent, and are given more time in each round.
  for (double attempt = 0.5; Clock::now() < patience.end; attempt = std::min(2 * attempt, 60.0)) {
    for (const std::string& address : target.addresses) {
      try {
        auto end = std::min(Clock::now() + seconds_of(attempt), patience.end);
        return try_address(self, target, secret, address, end, patience.end);
      } catch (const Error& error) {
        if (error.category() != Category::collective) throw;
        reason = error.what();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  fail(Category::collective, "{} did not reach {} at {} within {:g} s: {}", to_string(self.info),
       to_string(target.info), places(target), patience.seconds, reason);
}

std::vector<Socket> accept_ranks(Acceptor& reception, const std::vector<PeerInfo>& table, int first,
                                 Patience patience) {
  std::vector<Socket> sockets(table.size());
  std::vector<bool> come(table.size());
  std::fill_n(come.begin(), first, true);
  while (std::ranges::count(come, false) > 0) {
    auto visitor = reception.next(patience.end);
    if (!visitor) {
      auto& own = table[size_t(reception.badge().rank)];
      auto where = fmt::format("{} at {}", to_string(own.info), places(own));
      throw Error(Category::collective, not_come(come, where, patience.seconds, reception));
    }
    // One that is none of the expected ranks is let go: its connection ends with this turn.
    const Route& route = visitor->route;
    auto rank = static_cast<size_t>(route.from);
    if (route.kind != Route::Kind::peer || rank >= come.size() || come[rank]) continue;
    sockets[rank] = std::move(visitor->socket);
    come[rank] = true;
  }
  return sockets;
}

std::string not_come(const std::vector<bool>& come, const std::string& where, double seconds,
                     const Acceptor& reception) {
  bool one = std::ranges::count(come, false) == 1;
  auto text = fmt::format(
      "{} did not connect to {} within {:g} s: {} started, and can {} reach it?",
      missing_ranks(come), where, seconds, one ? "is it" : "are they", one ? "it" : "they");
  return text + reception.turned_away();
}

}  // namespace spire::inline process

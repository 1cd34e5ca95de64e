#include "engine/process/rendezvous/acceptor.h"

#include <algorithm>

#include <poll.h>

namespace spire::inline process {

using Clock = std::chrono::steady_clock;

Acceptor::Acceptor(Listener listener, Badge badge, Limits limits)
    : listener_(std::move(listener)), badge_(std::move(badge)), limits_(limits) {}

std::optional<Acceptor::Visitor> Acceptor::next(Deadline deadline) {
  for (;;) {
    drop_late();
    if (auto visitor = hear_all()) return visitor;
    if (Clock::now() >= deadline) return {};
    wait(deadline);
    admit();
  }
}

// Until somebody comes, speaks, or has had his time, or the deadline passed.
void Acceptor::wait(Deadline deadline) {
  std::vector<pollfd> entries{{listener_.descriptor(), POLLIN, 0}};
  for (const Caller& caller : callers_) entries.push_back({caller.socket.descriptor(), POLLIN, 0});
  Deadline end = callers_.empty() ? deadline : std::min(deadline, callers_.front().end);
  auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  auto timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
  poll(entries.data(), entries.size(), timeout);
}

// All who wait at the door, without waiting for more. Where no descriptor is free for one more
// (ulimit -n), a caller gives way, for silent ones must not keep out a rank; but those that have
// just come are heard first.
void Acceptor::admit() {
  for (size_t come = 0; come < limits_.callers; ++come) {
    try {
      if (!take_one()) return;
    } catch (const Error& error) {
      if (error.category() != Category::device || callers_.empty()) throw;
      if (come == 0) give_one_up();
      return;
    }
  }
}

bool Acceptor::take_one() {
  auto socket = listener_.accept(Clock::now());
  if (!socket) return false;
  make_room();
  Caller& caller = callers_.emplace_back();
  caller.socket = std::move(*socket);
  caller.end = Clock::now() + limits_.time;
  return true;
}

void Acceptor::make_room() {
  if (callers_.size() >= limits_.callers) give_one_up();
}

// Who came first goes first, of those that have said the least. Ranks that meet this in a crowd of
// strangers come again.
void Acceptor::give_one_up() {
  auto goes = std::ranges::min_element(callers_, {}, [](const Caller& caller) {
    return caller.known ? 2 : caller.introduction.called() ? 1 : 0;
  });
  callers_.erase(goes);
  ++silent_;
}

void Acceptor::drop_late() {
  auto now = Clock::now();
  silent_ += static_cast<int>(
      std::erase_if(callers_, [&](const Caller& caller) { return caller.end <= now; }));
}

Acceptor::State Acceptor::introduce(Caller& caller) {
  switch (caller.introduction.advance(caller.socket, badge_)) {
    case Introduction::State::incomplete:
      return State::waits;
    case Introduction::State::closed:
      return State::gone;
    case Introduction::State::foreign:
      ++foreign_;
      return State::gone;
    case Introduction::State::denied:
      ++denied_;
      return State::gone;
    case Introduction::State::known:
      break;
  }
  caller.known = true;
  return State::whole;
}

// One who joins has a hello to say when it is known.
Acceptor::State Acceptor::hear(Caller& caller) {
  if (!caller.known) {
    State state = introduce(caller);
    if (state != State::whole) return state;
  }
  if (caller.introduction.route().kind != Route::Kind::join) return State::whole;
  switch (caller.hello.read(caller.socket)) {
    case FrameReader::State::incomplete:
      return State::waits;
    case FrameReader::State::whole:
      break;
    default:
      return State::gone;
  }
  return caller.hello.frame().kind == FrameKind::hello ? State::whole : State::gone;
}

// The first caller that is done; the others keep their place.
std::optional<Acceptor::Visitor> Acceptor::hear_all() {
  for (size_t i = 0; i < callers_.size();) {
    Caller& caller = callers_[i];
    State state = hear(caller);
    if (state == State::waits) {
      ++i;
      continue;
    }
    Visitor visitor{std::move(caller.socket), caller.introduction.route(),
                    std::move(caller.hello.frame().text)};
    callers_.erase(callers_.begin() + static_cast<ptrdiff_t>(i));
    if (state == State::whole) return visitor;
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

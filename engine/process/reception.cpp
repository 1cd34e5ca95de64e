#include <spire/process/reception.h>

#include <poll.h>

#include <algorithm>
#include <chrono>

namespace spire {

using Clock = std::chrono::steady_clock;

std::optional<Reception::Visitor> Reception::next(Deadline deadline) {
  for (;;) {
    if (auto visitor = hear()) return visitor;
    if (!wait(deadline)) return {};
    admit();
  }
}

// Until somebody comes or speaks; false when the deadline passed.
bool Reception::wait(Deadline deadline) {
  std::vector<pollfd> entries{{listener_.descriptor(), POLLIN, 0}};
  for (const Caller& caller : callers_) entries.push_back({caller.socket.descriptor(), POLLIN, 0});
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  auto timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
  return poll(entries.data(), entries.size(), timeout) > 0 || Clock::now() < deadline;
}

// All who wait at the door, without waiting for more.
void Reception::admit() {
  while (auto socket = listener_.accept(Clock::now())) {
    callers_.emplace_back();
    callers_.back().socket = std::move(*socket);
  }
}

// The first caller whose frame is whole; the others keep their place.
std::optional<Reception::Visitor> Reception::hear() {
  for (size_t i = 0; i < callers_.size();) {
    auto caller = callers_.begin() + static_cast<ptrdiff_t>(i);
    auto state = caller->reader.read(caller->socket);
    if (state == FrameReader::State::incomplete) {
      ++i;
      continue;
    }
    Visitor visitor{std::move(caller->socket), std::move(caller->reader.frame())};
    callers_.erase(caller);
    if (state == FrameReader::State::whole) return visitor;
    ++dropped_;
  }
  return {};
}

}  // namespace spire

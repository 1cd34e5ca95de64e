#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <optional>
#include <sstream>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "engine/base/fail.h"
#include "engine/base/system.h"
#include "tools/doctor/checks.h"
#include "tools/output/streams.h"
#include "tools/process/child_process.h"

namespace spire {

namespace {

using Clock = std::chrono::steady_clock;

// A child that tries copies, and the lines that it writes.
class Trial {
 public:
  explicit Trial(const std::vector<PeerCopy>& copies) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      fail(Category::device, "no pipe can be made: {}", system_reason(errno));
    reader_ = Descriptor(ends[0]);
    Descriptor writer(ends[1]);
    ChildSetup setup;
    setup.words = {"doctor-peers"};
    for (const PeerCopy& copy : copies)
      setup.words.push_back(fmt::format("{}{}{}", copy.from, copy.direct ? '+' : '-', copy.to));
    setup.streams.out = writer;
    sigprocmask(SIG_SETMASK, nullptr, &setup.signal_mask);
    child_.emplace(std::move(setup));
  }
  ~Trial() { child_->abandon(); }
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Returns the next line; none if the deadline passes or the child has ended before.
  std::optional<std::string> line_by(Clock::time_point deadline) {
    for (;;) {
      if (size_t end = text_.find('\n'); end != text_.npos) {
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
      }
      if (ended_ || !read_by(deadline)) return std::nullopt;
    }
  }
  bool ended() const { return ended_; }

 private:
  bool read_by(Clock::time_point deadline) {
    using std::chrono::ceil;
    auto left = ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd waiting{reader_, POLLIN, 0};
    int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left)));
    if (ready == 0) return false;
    if (ready < 0) return errno == EINTR;
    char bytes[4096];
    ssize_t count = read(reader_, bytes, sizeof bytes);
    if (count > 0) text_.append(bytes, static_cast<size_t>(count));
    ended_ = count == 0;
    return count >= 0 || errno == EINTR;
  }

  Descriptor reader_;  // of a pipe
  std::optional<ChildProcess> child_;
  std::string text_;
  bool ended_ = false;
};

constexpr const char* ready = "ready";

Clock::time_point in(double seconds) {
  return Clock::now() +
         std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

// Takes the child's lines into `copies` until all have an outcome, the child ends or one hangs:
// then that one's outcome says so.
void follow(Trial& trial, std::vector<PeerCopy>& copies, const PeerLimits& limits) {
  if (trial.line_by(in(limits.start_seconds)) != ready) {
    copies[0].outcome = PeerCopy::Outcome::failed;
    copies[0].problem = trial.ended()
                            ? "CUDA ended the process at its start"
                            : fmt::format("CUDA did not start within {:g} s", limits.start_seconds);
    return;
  }
  for (PeerCopy& copy : copies) {
    auto line = trial.line_by(in(limits.copy_seconds));
    auto tried = line ? read_copy(*line) : std::nullopt;
    if (!tried) {
      copy.outcome = trial.ended() ? PeerCopy::Outcome::failed : PeerCopy::Outcome::hung;
      copy.problem = trial.ended() ? "the process that tried it ended by itself" : "";
      return;
    }
    copy = *tried;
  }
}

// "0+1", "0-1"
std::optional<PeerCopy> read_word(const std::string& word) {
  std::istringstream text(word);
  PeerCopy copy;
  char how = 0;
  if (!(text >> copy.from >> how >> copy.to) || (how != '+' && how != '-')) return {};
  copy.direct = how == '+';
  return copy;
}

}  // namespace

std::vector<PeerCopy> try_in_children(std::vector<PeerCopy> copies, const PeerLimits& limits) {
  std::vector<PeerCopy> waiting = copies, done;
  int bad = 0;
  while (!waiting.empty() && bad < limits.most_hung) {
    Trial trial(waiting);
    follow(trial, waiting, limits);
    auto untried = std::ranges::find(waiting, PeerCopy::Outcome::untried, &PeerCopy::outcome);
    done.insert(done.end(), waiting.begin(), untried);
    waiting.erase(waiting.begin(), untried);
    ++bad;  // it did not come to its end
  }
  done.insert(done.end(), waiting.begin(), waiting.end());
  return done;
}

int try_named_copies(const std::vector<std::string>& words) {
  std::vector<PeerCopy> copies;
  for (const std::string& word : words) {
    auto copy = read_word(word);
    if (!copy) fail(Category::config, "doctor-peers: '{}' is none of 0-1 and 0+1", word);
    copies.push_back(*copy);
  }
  auto say = [](const std::string& line) {
    result_text(line + "\n");
    flush_results();
  };
  start_gpus(copies);
  say(ready);
  for (const PeerCopy& copy : copies) say(to_line(try_copy(copy)));
  return 0;
}

}  // namespace spire

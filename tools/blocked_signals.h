// Signals that wait until they are asked for, so that a process which looks after others loses none
// and needs no handler.
#pragma once
#include <chrono>
#include <csignal>
#include <optional>

namespace spire::tool {

// While one lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGTSTP and SIGCHLD are held back on this
// thread for wait(); not SIGHUP where whoever started the program ignores it (nohup). At most one
// at a time.
class BlockedSignals {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // The next of these; nothing when the deadline passed. Without one it waits for good.
  std::optional<int> wait(std::optional<Deadline> deadline);

  // The mask from before: what a child starts with.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t held_{}, before_{};
  struct sigaction child_before_ {};
};

}  // namespace spire::tool

// Receives signals that ask the program to stop, by handlers or by waiting for them.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>

namespace spire::tool {

// Handles SIGINT, SIGTERM, SIGHUP and SIGUSR1 during its lifetime; at most one object at a time.
// - Before begin_work() a signal ends the process with code 75 and a line on stderr.
// - After it the first signal sets the flag and prints `note` on stderr; a second SIGINT ends the
//   process (130). An empty note prints nothing, in both cases.
// - A SIGHUP that was ignored when the program started (nohup) stays ignored.
class StopSignals {
 public:
  static constexpr std::string_view saving =
      "\nstopping: saving a checkpoint first; press Ctrl+C again to end at once\n";
  static constexpr std::string_view ending = "\nstopping; press Ctrl+C again to end at once\n";

  explicit StopSignals(std::string_view note);  // `note` must outlive the object
  ~StopSignals();                               // restores the handlers from before
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  void begin_work();  // any thread; later calls do nothing
  const std::atomic<bool>* flag() const;

 private:
  static constexpr std::array handled = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
  std::array<struct sigaction, handled.size()> before_{};
};

// Blocks SIGINT, SIGTERM, SIGHUP (unless ignored), SIGUSR1, SIGTSTP and SIGCHLD on this thread for
// wait(), during its lifetime; at most one object at a time.
class BlockedSignals {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Returns the next of these signals, or nothing once the deadline has passed.
  std::optional<int> wait(std::optional<Deadline> deadline);

  const sigset_t& mask_before() const { return before_; }  // the mask that children start with

 private:
  sigset_t blocked_{}, before_{};
  struct sigaction child_before_ {};
};

}  // namespace spire::tool

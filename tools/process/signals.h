// Receives signals that ask the program to stop, either by handlers or by waiting for them.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>

namespace spire {

// Signals that ask the program to stop. Batch systems send each of the last three some time before
// they kill a job; SIGXCPU also comes from the system, at the soft limit on processor time.
inline constexpr std::array stop_signals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

// Handles stop_signals while it lives; at most one object at a time.
// - Before begin_work() a signal ends the process with exit code 75 and a line on stderr.
// - After it the first signal sets flag() and prints `note` on stderr; a second SIGINT ends the
//   process with exit code 130. With an empty note nothing is printed in either case.
// - SIGHUP stays ignored if it was ignored when the program started (nohup).
// - A signal that arrived while it was blocked is delivered when the object is made: a supervisor
//   starts its processes with blocked signals (BlockedSignals::mask_until_handled()).
class StopSignals {
 public:
  static constexpr std::string_view saving =
      "\nstopping: saving a checkpoint first; press Ctrl+C again to end at once\n";
  static constexpr std::string_view ending = "\nstopping; press Ctrl+C again to end at once\n";

  explicit StopSignals(std::string_view note);  // `note` outlives this
  ~StopSignals();  // restores the earlier handlers, unless end_work() was called
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  void begin_work();  // any thread; later calls do nothing
  // Call it when the exit code is known: from then on signals do nothing, also those that are
  // pending because a BlockedSignals has not received them.
  static void end_work();
  const std::atomic<bool>* flag() const;

 private:
  std::array<struct sigaction, stop_signals.size()> before_{};
};

// Blocks stop_signals (SIGHUP unless it is ignored), SIGTSTP and SIGCHLD on this thread while it
// lives, so that wait() receives them; at most one object at a time.
class BlockedSignals {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  BlockedSignals();
  ~BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

  // Waits for the next of these signals and returns it; none if the deadline passes first.
  std::optional<int> wait(std::optional<Deadline> deadline);
  // Waits until the deadline; SIGTSTP suspends this process meanwhile. Returns true as soon as one
  // of stop_signals comes.
  bool stopped_before(Deadline deadline);

  const sigset_t& mask_before() const { return before_; }  // mask for child processes
  // The mask for child processes that make a StopSignals: stop_signals stay pending until they do.
  sigset_t mask_until_handled() const;

 private:
  sigset_t blocked_{}, before_{};
  struct sigaction child_before_ {};
};

void suspend_self();  // suspends this process until SIGCONT, as Ctrl+Z does

}  // namespace spire

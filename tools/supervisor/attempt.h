// One attempt at a run: its processes from their start to their common end, and the outcome.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/process/socket.h"
#include "tools/process/signals.h"
#include "tools/supervisor/child_process.h"

namespace spire::tool {

// Common outcome of all processes.
struct Outcome {
  int code = 0;              // 0: all ended well
  ExitStatus cause;          // the status that explains the others, where code is not 0
  bool restartable = false;  // another attempt may succeed
  int died = 0;              // processes killed by a signal, without forced ones
};

// Returns the outcome of at least one status, in the order in which the processes ended. The cause
// is, in this order: an exit code that names a reason (config, data, ...), a stop, a death, the
// codes 1 and 8, which often follow from another's end, and a forced end.
Outcome judge(std::span<const ExitStatus> statuses);

struct AttemptEnd {
  std::vector<ExitStatus> statuses;        // of all processes, in the order in which they ended
  int stopped_by = 0;                      // last signal passed on to the processes; 0: none
  bool interrupted_twice = false;          // a second SIGINT killed them all
  std::chrono::duration<double> lived{0};  // until the first process ended
};

class Attempt {
 public:
  // Starts `ranks` processes, or one without a rank where ranks is 0.
  Attempt(const std::vector<std::string>& words, const std::vector<Variable>& variables, int ranks,
          BlockedSignals& signals);

  // Passes signals on and returns when all processes have ended. After the first failure the others
  // have `grace_seconds` to end by themselves.
  AttemptEnd wait(double grace_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void collect_ended(double grace_seconds);
  void pass_on(int number);
  void kill_all(bool forced);

  BlockedSignals& signals_;
  std::optional<ReservedPort> port_;
  std::vector<ChildProcess> children_;  // by rank
  AttemptEnd end_;
  int interrupts_ = 0;
  bool forced_ = false;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> deadline_;  // for the processes that still run
};

// Stops this process until SIGCONT, as Ctrl+Z does.
void suspend_self();

}  // namespace spire::tool

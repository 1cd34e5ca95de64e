// One attempt at a run: its processes from their start to their common end, and the outcome.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/process/signals.h"
#include "tools/supervisor/child_process.h"
#include "tools/supervisor/master_port.h"

namespace spire::tool {

// How one process ended.
struct ExitStatus {
  int rank = -1;        // -1: the only process, without a rank
  int code = 0;         // exit code, where signal is 0
  int signal = 0;       // signal that killed it
  bool forced = false;  // killed by this program, because it did not end by itself

  bool good() const { return code == 0 && signal == 0; }
};
std::string to_string(const ExitStatus& status);  // "rank 2 was killed by signal 9 (Killed)"

// Common outcome of all processes.
struct Outcome {
  int code = 0;              // 0: all ended well
  ExitStatus cause;          // the status that explains the others, where code is not 0
  bool restartable = false;  // another attempt may succeed
  int died = 0;              // processes killed by a signal, without forced ones
};

// Returns the outcome of at least one status, in the order in which the processes ended. The cause
// is an exit code that names a reason (configuration, data, stopped by a signal, ...) before a
// death, a death before the codes 1 and 8, which often only follow from another's, and a forced end
// comes last.
Outcome judge(std::span<const ExitStatus> statuses);

struct AttemptEnd {
  std::vector<ExitStatus> statuses;        // of all processes, in the order in which they ended
  int stopped_by = 0;                      // last signal passed on to the processes; 0: none
  bool interrupted_twice = false;          // a second SIGINT killed them all
  std::chrono::duration<double> lived{0};  // until the first process ended
};

class Attempt {
 public:
  // Starts `ranks` processes, or one process without a rank where ranks is 0. variables: added to
  // the environment of each.
  Attempt(const std::vector<std::string>& words, const std::vector<Variable>& variables, int ranks,
          BlockedSignals& signals);

  // Passes signals on and returns when all processes have ended. After the first failure the others
  // have `grace_seconds` to end by themselves.
  AttemptEnd wait(double grace_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void start(const std::vector<std::string>& words, std::vector<Variable> variables, int rank,
             int size);
  void collect_ended(double grace_seconds);
  void pass_on(int number);
  void kill_all(bool forced);

  BlockedSignals& signals_;
  std::optional<MasterPort> port_;
  std::string secret_;  // of this attempt: ranks of an earlier attempt or another run cannot join
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

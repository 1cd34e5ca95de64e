// The processes of a run from one start to their common end.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "tools/blocked_signals.h"
#include "tools/child_process.h"
#include "tools/master_port.h"
#include "tools/outcome.h"

namespace spire::tool {

struct AttemptEnd {
  std::vector<ChildEnd> ends;              // of all processes, in the order in which they came
  int stopped_by = 0;                      // the last signal that was passed on; 0: none
  bool at_once = false;                    // a second SIGINT came: all were killed
  std::chrono::duration<double> lived{0};  // until the first end
};

class Attempt {
 public:
  // Starts them. ranks: how many; 0: one process that knows nothing of ranks. variables: for each
  // of them, beside those of this process.
  Attempt(const std::vector<std::string>& words, const std::vector<Variable>& variables, int ranks,
          BlockedSignals& signals);

  // Passes signals on, and returns when none is left. When one fails, the others have
  // `grace_seconds` to end by themselves.
  AttemptEnd wait(double grace_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void start(const std::vector<std::string>& words, std::vector<Variable> variables, int rank,
             int size);
  void take_ends(double grace_seconds);
  void pass_on(int number);
  void kill_all(bool forced);

  BlockedSignals& signals_;
  std::optional<MasterPort> port_;
  std::string secret_;  // of this start's ranks: those of an earlier one, or of others, do not join
  std::vector<ChildProcess> children_;  // by rank
  AttemptEnd end_;
  int interrupts_ = 0;
  bool forced_ = false;
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> deadline_;  // for those that are left
};

// Ctrl+Z: stops this process until SIGCONT.
void suspend_self();

}  // namespace spire::tool

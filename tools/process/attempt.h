// One attempt at a run: starts its processes, waits until all have ended, judges the outcome. And
// how one of these processes joins the others.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spire/run_config.h>
#include <spire/world.h>

#include "tools/process/child_process.h"
#include "tools/process/signals.h"

namespace spire {

// Common outcome of all processes.
struct Outcome {
  int code = 0;              // exit code for the run; 0: all processes succeeded
  ExitStatus cause;          // if code is not 0: the status that explains the others
  bool restartable = false;  // whether another attempt may succeed
  int died = 0;              // number of processes killed by a signal that did not come from here
};

// statuses: at least one, in the order in which the processes ended. The cause is the first status
// of the first of these kinds that occurs: an exit code that names a reason (config, data, ...);
// the code of a stop by a signal; killed by a signal; the code 1 (unexpected), then 8 (collective),
// which often follow from the end of another process; ended from here (ExitStatus::forced).
Outcome judge(std::span<const ExitStatus> statuses);

struct AttemptEnd {
  std::vector<ExitStatus> statuses;        // all processes', in the order of their ends
  int stopped_by = 0;                      // last signal that was passed on; 0 if none was
  bool interrupted_twice = false;          // all were killed after a second SIGINT
  std::chrono::duration<double> lived{0};  // time from the start until the first process ended
};

struct AttemptSetup {
  std::vector<std::string> words;        // arguments of all processes
  std::vector<Variable> variables = {};  // and environment variables
  int ranks = 0;                         // number of processes; 0: one process without a rank
  bool handles_signals = false;          // they make a StopSignals; earlier signals wait for it
  std::vector<int> cores = {};           // as ChildSetup has them
  std::vector<Streams> streams = {};     // of each process; empty: this process's
};

class Attempt {
 public:
  Attempt(const AttemptSetup& attempt, BlockedSignals& signals);  // starts the processes

  // Passes signals on to the processes and returns when all have ended. After a process fails, the
  // others have 2 s to end by themselves. SIGTERM then ends those that are still waiting for all
  // ranks to join, and makes the others save a checkpoint; 12 s after the failure all are killed.
  AttemptEnd wait();

 private:
  using Clock = std::chrono::steady_clock;

  void collect_ended();
  void end_others();
  void pass_on(int number);
  void kill_all(bool forced);

  BlockedSignals& signals_;
  std::optional<LocalRanks> ranks_;
  std::vector<ChildProcess> children_;  // one per rank
  AttemptEnd end_;
  int interrupts_ = 0;
  bool asked_ = false, forced_ = false;  // whether the others were sent SIGTERM; killed
  Clock::time_point begin_ = Clock::now();
  std::optional<Clock::time_point> deadline_;  // when the others are asked to end, or killed
  Clock::time_point last_deadline_;            // when they are killed
};

// Joins the other ranks of an attempt; returns null for a run of one process. Throws as
// join_world() does.
std::unique_ptr<World> join_ranks(const Launch& launch, const RunConfig& config);

// Prints the failure on stderr and ends the process at once. For a process in which a thread hangs,
// as no other thread can end that thread.
[[noreturn]] void end_process(const Failure& failure);

}  // namespace spire

// A watchdog thread in each process: if a rank fails or hangs, it ends the whole run within a
// limited time and names the cause. Its control connections are separate from those for data, so it
// works while everything else hangs.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/world.h>

#include "engine/process/socket.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire {

struct WatchdogLimits {
  double start_seconds = 300;        // without progress in phase start
  double step_seconds = 600;         // in other phases, except checkpoint, idle and waiting
  double checkpoint_seconds = 1800;  // in phase checkpoint
  double silence_seconds = 60;       // without a message from a rank; its phase's limit, if shorter
};

struct ControlLink {  // connection from rank 0 to another rank, or back; handed to a watchdog
  int rank = 0;
  std::string peer;  // "rank 2 (host b, pid 77)"
  Socket socket;
};

class Watchdog {
 public:
  struct Options {  // the callbacks must not throw
    int rank = 0;
    std::string self;  // "rank 0 (host a, pid 41)"
    // Called once on the watchdog's thread when the run has failed: releases threads that wait for
    // other ranks (ProcessGroup::interrupt, barriers).
    std::function<void()> release;
    // Called on the watchdog's thread if ~Watchdog has not begun `grace_seconds` after a failure,
    // because a thread hangs. The library does not end the process; the program `trainer` does.
    std::function<void(const Failure&)> on_exit_timeout;
    double grace_seconds = 5;
    std::vector<int> cores = {};  // for the watchdog's thread; empty: the creating thread's
  };

  // links: on rank 0 one to each other rank, on the others one to rank 0. Limits count from watch()
  // on.
  Watchdog(Options options, std::vector<ControlLink> links);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Watches the phases in `status`, which must live that long, until the next call; null: none.
  void watch(const ThreadStatus* status, const WatchdogLimits& limits);

  // Reports a failure of this rank; returns the failure of the run, as rank 0 decides it, or `mine`
  // if no decision arrives within a limited time.
  Failure fail(Failure mine);

  std::optional<Failure> failure() const;  // the run's failure, once this rank knows it

  // Reports that this rank is done, after a good run; returns when all are done or one has failed.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire

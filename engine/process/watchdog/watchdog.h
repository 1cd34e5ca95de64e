// A watchdog thread in each process that ends the whole run, in time and with the cause named, if a
// rank fails. It reads the process's ThreadStatus and talks to the others over a star of control
// connections around rank 0, apart from the data, so it works while everything else hangs.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spire/failure.h>

#include "engine/process/socket.h"
#include "engine/process/watchdog/thread_status.h"

namespace spire::inline process {

struct WatchdogLimits {
  double start_seconds = 300;        // in phase start
  double step_seconds = 600;         // in any other phase but checkpoint, idle and waiting
  double checkpoint_seconds = 1800;  // in phase checkpoint
  // Without a message of another rank, which sends a heartbeat every second: it is stopped or cut
  // off. The limit of its last phase holds if it is shorter.
  double silence_seconds = 60;
};

// One arm of the star, before a watchdog owns it.
struct ControlLink {
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
    // Called on the watchdog's thread if ~Watchdog has not begun `grace_seconds` after a failure: a
    // thread hangs, and only the end of the process ends that. The library does not end it;
    // `trainer` prints and exits.
    std::function<void(const Failure&)> on_exit_timeout;
    double grace_seconds = 5;
    std::vector<int> cores = {};  // of the watchdog's thread; empty: those of the creating thread
  };

  // links: rank 0 has one to each other rank, the others have one to rank 0, a run of one process
  // has none. The limits count from watch() on.
  Watchdog(Options options, std::vector<ControlLink> links);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Watches the phases of `status`, which must outlive that, until the next call; null: none.
  void watch(const ThreadStatus* status, const WatchdogLimits& limits);

  // Reports a failure of this rank; returns the run's failure as rank 0 decides it, or `mine` if no
  // decision arrives within a bounded time.
  Failure fail(Failure mine);

  // Returns the run's failure once it is known here.
  std::optional<Failure> failure() const;

  // Reports that this rank is done; returns when all ranks are, or one failed. Call it at the end
  // of a successful run.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire::inline process

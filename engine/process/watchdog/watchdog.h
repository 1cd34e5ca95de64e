// A watchdog thread in each process that ends the whole run, in time and with the cause named, if a
// rank fails. Its control connections are apart from the data, so it works while all else hangs.
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
  double silence_seconds = 60;       // without a message of a rank; its phase's limit, if shorter
};

struct ControlLink {  // one arm of the star, before a watchdog owns it
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
    // thread hangs. The library does not end the process; `trainer` prints and exits.
    std::function<void(const Failure&)> on_exit_timeout;
    double grace_seconds = 5;
    std::vector<int> cores = {};  // of the watchdog's thread; empty: those of the creating thread
  };

  // links: rank 0's to each other rank, the others' one to rank 0. Limits count from watch() on.
  Watchdog(Options options, std::vector<ControlLink> links);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Watches the phases of `status`, which must outlive that, until the next call; null: none.
  void watch(const ThreadStatus* status, const WatchdogLimits& limits);

  // Reports a failure of this rank; returns the run's, as rank 0 decides it, or `mine` if no
  // decision arrives within a bounded time.
  Failure fail(Failure mine);

  std::optional<Failure> failure() const;  // the run's, once it is known here

  // Reports that this rank is done, at the end of a good run; returns when all are, or one failed.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire::inline process

// Sees to it that a run in which one rank fails ends as a whole, in time, with the cause named. A
// thread of its own in each process reads the process's phase board, and is joined to the others by
// a star of control connections with rank 0 in the middle, apart from the data: so it hears of a
// death or a stall while all else hangs.
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
  // Without a word of another rank, whose watch speaks every second: it is stopped or cut off.
  // Where the limit of the phase it was last seen in is shorter, that one holds.
  double silence_seconds = 60;
};

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
    // Called once, on the watch's thread, when the run has failed: it releases what waits for
    // others (ProcessGroup::interrupt, barriers).
    std::function<void()> release;
    // Called on the watch's thread when this process has not left the run (~Watchdog)
    // `grace_seconds` after a failure, because a thread of it hangs: nothing but the end of the
    // process can end that. The library does not do it; `trainer` prints and exits.
    std::function<void(const Failure&)> on_hang;
    double grace_seconds = 5;
    std::vector<int> cores = {};  // where the thread runs; empty: where its creator does
  };

  // Rank 0 has a link to each other rank, the others one to rank 0; a run of one process none. The
  // limits count from watch() on.
  Watchdog(Options options, std::vector<ControlLink> links);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // From here on the board's phases are watched; null: no longer. The board must outlive that.
  void watch(const ThreadStatus* board, const WatchdogLimits& limits);

  // This rank failed: tells the others, waits for rank 0's verdict (a bounded time) and returns it,
  // or `mine` when none comes.
  Failure fail(Failure mine);

  // The run's failure, once known here.
  std::optional<Failure> failure() const;

  // This rank is done and nothing of it will be missed; returns when all ranks said so, or one
  // failed. Call at the end of a run that went well.
  void leave();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace spire::inline process

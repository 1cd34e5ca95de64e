// A watchdog thread in each process: if a rank fails or hangs, it ends the whole run within a
// limited time and names the cause. Its control connections are separate from those for data, so it
// works while everything else hangs.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

#include <spire/world.h>

#include "engine/base/fail.h"
#include "engine/process/socket.h"
#include "engine/process/watchdog/control_channel.h"
#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog_logic.h"

namespace spire {

struct ControlLink {  // connection from rank 0 to another rank, or back; handed to a watchdog
  int rank = 0;
  std::string peer;  // "rank 2 (host b, pid 77)"
  Socket socket;
};

// A thread around WatchdogLogic: it sleeps in poll() until a message, a call or a time comes.
class Watchdog {
 public:
  struct Options {  // the callbacks must not throw
    int rank = 0;
    std::string self;  // "rank 0 (host a, pid 41)"
    // Called once on the watchdog's thread when the run has failed: releases threads that wait for
    // other ranks (ProcessGroup::interrupt, barriers).
    std::function<void()> release;
    // Called on the watchdog's thread if ~Watchdog has not begun within `grace_seconds` of a
    // failure, because a thread hangs. The library does not end the process; the program `trainer`
    // does.
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

  // Until the next call watches the phases in `status`, which must live that long; null: none.
  void watch(const ThreadStatus* status, const TimeoutConfig& limits);

  // Reports a failure of this rank; returns the failure of the run, as rank 0 decides it, or `mine`
  // if no decision arrives within a limited time.
  Failure fail(const Failure& mine);

  std::optional<Failure> failure() const;  // the run's failure, once this rank knows it

  // Reports that this rank is done, after a good run; returns when all are done or one has failed.
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  struct Link {
    int rank;
    ControlChannel channel;
    bool lost = false;  // the connection has ended, and the logic knows
  };

  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void wake() { notify(wake_); }
  // On the thread:
  void run();
  void serve();
  void poll_links(int milliseconds);
  void sleep_until(double time);
  void receive(double now);
  bool take_calls(double now);
  bool link_ended() const;
  void end_links(double now);
  bool publish(double now);
  void set_run_failure(const Failure& failure);
  void await_exit();
  void outlive_rank_0(Clock::time_point end);

  const Options options_;
  const Clock::time_point start_ = Clock::now();
  const Socket wake_ = event_counter();

  // Used by the thread alone.
  std::vector<Link> links_;
  std::vector<pollfd> polled_;  // wake_, then links_; a closed link's descriptor is -1: never ready
  WatchdogLogic logic_;

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  const ThreadStatus* status_ = nullptr;
  std::optional<TimeoutConfig> limits_;  // new, not yet given to the logic
  std::vector<Failure> reported_;        // by fail(), not yet given to the logic
  bool leaving_ = false, stopping_ = false;
  std::optional<Failure> run_failure_;
  Clock::time_point failed_at_;
  bool settled_ = false;  // the run has ended or failed, and the other ranks know

  std::jthread thread_;  // last: starts when all other members exist
};

}  // namespace spire

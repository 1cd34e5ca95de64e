// Ends a run before its max_time, early enough for the steps under way and the last checkpoint.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace spire {

class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // seconds: max_time, counted from `started`; 0: no limit. checkpoint_bytes: the expected size of
  // a checkpoint, which stands for its time until one is written.
  TimeLimit(double seconds, Clock::time_point started, int64_t checkpoint_bytes)
      : seconds_(seconds),
        started_(started),
        checkpoint_seconds_(static_cast<double>(checkpoint_bytes) / slow_disk) {}

  void took_step(double seconds) {
    stepped_ = true;
    step_seconds_ = std::max(seconds, memory * step_seconds_);
  }
  void took_checkpoint(double seconds) { checkpoint_seconds_ = seconds; }

  // Returns whether the run has to stop now: less than reserve() is left. False before the first
  // step, so that every attempt gets on. Once true, it stays so: other ranks may know it by then.
  bool reached(Clock::time_point now = Clock::now()) {
    if (seconds_ <= 0 || !stepped_) return false;
    double passed = std::chrono::duration<double>(now - started_).count();
    reached_ = reached_ || passed + reserve() >= seconds_;
    return reached_;
  }

  // Seconds for the present step and, with several processes, the next one, with which the others
  // learn of the stop; for the last checkpoint; and for the end of the process.
  double reserve() const { return 2 * step_seconds_ + checkpoint_seconds_ + closing; }

 private:
  static constexpr double slow_disk = 50e6;  // bytes per second
  static constexpr double memory = 0.9;      // a long step counts less with every step after it
  static constexpr double closing = 1.0;     // seconds

  double seconds_;
  bool stepped_ = false, reached_ = false;
  Clock::time_point started_;
  double checkpoint_seconds_, step_seconds_ = 0;
};

}  // namespace spire

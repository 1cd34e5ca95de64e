// Ends a run before its max_time, early enough for one more step and the last checkpoint.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>

namespace spire::inline run {

class TimeLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // seconds: max_time, counted from `started`; 0: no limit. checkpoint_bytes: the expected size of
  // a checkpoint, which stands for its time until one is written.
  TimeLimit(double seconds, Clock::time_point started, int64_t checkpoint_bytes)
      : seconds_(seconds),
        started_(started),
        checkpoint_seconds_(static_cast<double>(checkpoint_bytes) / slow_disk) {}

  void took_step(double seconds) { step_seconds_ = std::max(seconds, memory * step_seconds_); }
  void took_checkpoint(double seconds) { checkpoint_seconds_ = seconds; }

  // Returns whether the run has to stop now: less than reserve() is left.
  bool reached(Clock::time_point now = Clock::now()) const {
    if (seconds_ <= 0) return false;
    return std::chrono::duration<double>(now - started_).count() + reserve() >= seconds_;
  }

  // Seconds for a step, the last checkpoint, and the end of the process.
  double reserve() const { return step_seconds_ + checkpoint_seconds_ + closing; }

 private:
  static constexpr double slow_disk = 50e6;  // bytes per second
  static constexpr double memory = 0.9;      // a long step counts less with every step after it
  static constexpr double closing = 1.0;     // seconds

  double seconds_;
  Clock::time_point started_;
  double checkpoint_seconds_, step_seconds_ = 0;
};

}  // namespace spire::inline run

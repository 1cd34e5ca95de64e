// For whoever asks again and again whether something has come, and shares a core with threads that
// compute: not a pause at all at first, then longer and longer ones.
#pragma once
#include <chrono>

namespace spire::inline process {

class Backoff {
 public:
  void pause();

 private:
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin_ = Clock::now();
  std::chrono::microseconds length_{20};
};

}  // namespace spire::inline process

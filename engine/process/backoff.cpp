#include "engine/process/backoff.h"

#include <algorithm>
#include <thread>

#include <sched.h>

namespace spire::inline process {

using std::chrono::microseconds;

void Backoff::pause() {
  auto waited = Clock::now() - begin_;
  if (waited < microseconds(50)) return;
  if (waited < microseconds(200)) {
    sched_yield();
    return;
  }
  std::this_thread::sleep_for(length_);
  length_ = std::min(length_ * 5 / 4, microseconds(200));
}

}  // namespace spire::inline process

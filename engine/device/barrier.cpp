#include "engine/device/barrier.h"

namespace spire::inline device {

void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old) {
  constexpr int spins =
      2000;  // about 50 microseconds: longer than a step's joints, shorter than a slice
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  word.wait(old, std::memory_order_acquire);
}

void Barrier::wait() {
  uint32_t phase = phase_.load(std::memory_order_acquire);
  if (broken_.load()) throw BarrierBroken{};
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    waiting_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_acq_rel);
    phase_.notify_all();
  } else {
    wait_while_equal(phase_, phase);
  }
  if (broken_.load()) throw BarrierBroken{};
}

void Barrier::break_up() {
  broken_.store(true);
  phase_.fetch_add(1, std::memory_order_acq_rel);
  phase_.notify_all();
}

}  // namespace spire::inline device

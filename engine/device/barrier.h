// A barrier that can be broken: when one thread fails, those that wait for it are released with an
// exception in place of waiting forever. Waiters spin briefly, then sleep.
#pragma once
#include <atomic>
#include <cstdint>

namespace spire::inline device {

// Thrown out of Barrier::wait() in the threads that did not fail themselves.
struct BarrierBroken {};

// One step of waiting in a spin loop.
inline void spin_pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` differs from `old`: some microseconds by spinning, then asleep.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old);

class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();      // throws BarrierBroken once broken
  void break_up();  // releases all waiters, now and later
  void mend() {
    broken_.store(false);
    waiting_.store(0);
  }  // REQUIRES: nobody waits

 private:
  const int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<uint32_t> phase_{0};
  std::atomic<bool> broken_{false};
};

}  // namespace spire::inline device

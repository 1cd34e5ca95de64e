// Barriers of lanes: Barrier for their threads, StreamBarrier for the streams of their devices.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/stream.h"

namespace spire::inline device {

class LaneTeam;

struct BarrierBroken {};  // thrown in threads that wait, and did not fail themselves

inline void spin_pause() {  // one step of a spin loop
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` differs from `old`: spins for some microseconds, then sleeps. Acquires what
// was released before `word` changed.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old);

// A reusable barrier that can be broken: when one thread fails, the others get an exception instead
// of waiting forever.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();      // throws BarrierBroken once the barrier is broken
  void break_up();  // releases all threads that wait now or later
  void reset();     // makes it whole again. REQUIRES: nobody waits

 private:
  const int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<uint32_t> phase_{0};  // counts completed and broken phases
  std::atomic<bool> broken_{false};
};

// A barrier of all lanes' streams: work that a lane submits after meet() runs after all work that
// any lane submitted before it.
class StreamBarrier {
 public:
  // streams: one per lane of the team. Team and streams outlive this.
  StreamBarrier(LaneTeam& team, std::vector<Stream*> streams);

  // REQUIRES: called by every lane, from inside LaneTeam::parallel(). Allocates nothing. Throws
  // BarrierBroken.
  void meet(int lane);

 private:
  LaneTeam& team_;
  std::vector<Stream*> streams_;
  // Two sets, used in turn, of one event per lane: a lane may record the next meeting's event
  // before another has waited for this meeting's.
  std::vector<std::unique_ptr<Event>> events_[2];
  std::vector<size_t> turn_;  // per lane: index of the set to use next
};

}  // namespace spire::inline device

#include "engine/device/barrier.h"

#include "engine/device/lane_team.h"

namespace spire::inline device {

void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old) {
  // About 50 microseconds: longer than lanes usually wait for each other within a step, shorter
  // than a time slice, so that a neighbour on the same core loses little.
  constexpr int spins = 2000;
  for (int i = 0; i < spins; ++i) {
    if (word.load(std::memory_order_acquire) != old) return;
    spin_pause();
  }
  word.wait(old, std::memory_order_acquire);
}

// The last thread to arrive starts the next phase; the others wait for phase_ to change. A thread
// reads phase_ before it counts itself: afterwards the phase might already be over.
void Barrier::wait() {
  uint32_t phase = phase_.load(std::memory_order_acquire);
  if (broken_.load()) throw BarrierBroken{};
  // acq_rel: the last thread sees what all others wrote before they arrived.
  if (waiting_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
    // Relaxed is enough: nobody counts himself again before he has seen the new phase.
    waiting_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_acq_rel);
    phase_.notify_all();
  } else {
    wait_while_equal(phase_, phase);
  }
  if (broken_.load()) throw BarrierBroken{};
}

// broken_ is set before the phase changes, so that a released thread sees it.
void Barrier::break_up() {
  broken_.store(true);
  phase_.fetch_add(1, std::memory_order_acq_rel);
  phase_.notify_all();
}

void Barrier::reset() {
  broken_.store(false);
  waiting_.store(0);
}

StreamBarrier::StreamBarrier(LaneTeam& team, std::vector<Stream*> streams)
    : team_(team), streams_(std::move(streams)), turn_(streams_.size(), 0) {
  for (auto& events : events_) {
    for (Stream* stream : streams_) events.push_back(stream->make_event());
  }
}

// The thread barrier between recording and waiting makes every event recorded before anyone waits
// for it. An event that was never recorded would be no wait at all.
void StreamBarrier::meet(int lane) {
  auto self = static_cast<size_t>(lane);
  auto& events = events_[turn_[self]];
  turn_[self] = 1 - turn_[self];
  streams_[self]->record(*events[self]);
  team_.barrier();
  for (size_t other = 0; other < events.size(); ++other) {
    if (other != self) streams_[self]->wait_for(*events[other]);
  }
}

}  // namespace spire::inline device

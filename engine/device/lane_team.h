// Lanes of a process, persistent CPU threads that run towers, and their barriers. A CPU device has
// as many lanes as its cores allow at tower_threads each; the kernels of a tower use the lane's
// OpenMP team. A GPU has one lane, whose thread submits its work and has it as current device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/stream.h"

namespace spire::inline device {

struct BarrierBroken {};  // thrown in threads that wait, not in the one that failed

inline void spin_pause() {  // one step of a spin loop
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` differs from `old`: spins, then sleeps. Acquires what was released before.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old);

// A reusable barrier. A thread that fails breaks it, and the others get an exception.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();      // throws BarrierBroken once the barrier is broken
  void break_up();  // releases all threads that wait now or later
  void reset();     // makes it usable again. REQUIRES: no thread waits

 private:
  const int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<uint32_t> phase_{0};  // counts completed and broken phases
  std::atomic<bool> broken_{false};
};

struct LaneSpec {
  DeviceId device;
  // Cores of all threads of the lane; empty: the creator's. A pinned lane has a core per thread, to
  // which none is bound: libgomp restarts threads, which inherit the leading one's cores.
  std::vector<int> cores;
  int threads = 1;  // size of the OpenMP team
};

// Lane 0 leads: lead() runs a function on its thread; from there parallel() runs another on all
// lanes at once, itself included. So a step passes nothing from thread to thread.
class LaneTeam {
 public:
  // Starts all threads of all lanes. Throws Error(device) if the system does not allow it.
  explicit LaneTeam(std::vector<LaneSpec> lanes, const std::string& name = "lane");
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

  int size() const { return static_cast<int>(specs_.size()); }
  const LaneSpec& spec(int lane) const { return specs_[static_cast<size_t>(lane)]; }

  // Runs `body` on lane 0's thread and waits for it. Rethrows what it throws.
  void lead(const std::function<void()>& body);

  // Runs body(lane) on every lane and waits for all. Rethrows the exception of the first lane that
  // failed. Allocates nothing. REQUIRES: called from inside lead().
  void parallel(const std::function<void(int lane)>& body);

  void barrier() { barrier_.wait(); }  // REQUIRES: every lane calls, from parallel()

 private:
  void start(const std::string& name);
  void release();  // ends the lanes
  void run_lane(int lane);
  void run_leader();
  void run_follower(int lane);
  void run_body(int lane);

  const std::vector<LaneSpec> specs_;
  Barrier barrier_;

  std::mutex lead_mutex_;
  std::condition_variable lead_changed_;
  const std::function<void()>* lead_body_ = nullptr;  // protected by lead_mutex_; null: idle
  std::exception_ptr lead_error_;  // written by the leader while lead_body_ is set

  // generation_ publishes body_ to the followers; running_ publishes their errors_ to the leader.
  std::atomic<uint32_t> generation_{0};  // counts calls of parallel()
  std::atomic<uint32_t> running_{0};     // followers still inside body
  std::atomic<bool> quit_{false};
  const std::function<void(int)>* body_ = nullptr;
  std::vector<std::exception_ptr> errors_;  // of parallel(), one per lane

  std::vector<std::jthread> threads_;  // last: joined before anything they use is destroyed
};

// Barrier of streams: a lane's work after meet() runs after all lanes' work before it.
class StreamBarrier {
 public:
  // streams: one a lane of the team; all outlive this.
  StreamBarrier(LaneTeam& team, std::vector<Stream*> streams);

  void meet(int lane);  // REQUIRES: as barrier(). Allocates nothing. Throws BarrierBroken

 private:
  LaneTeam& team_;
  std::vector<Stream*> streams_;
  std::vector<std::unique_ptr<Event>> events_[2];  // two sets of one a lane, in turn
  std::vector<size_t> turn_;                       // per lane: index of the set to use next
};

}  // namespace spire::inline device

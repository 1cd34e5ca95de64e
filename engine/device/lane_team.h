// Lanes of a process, and their barriers. A lane is a CPU thread, its own or its caller's, which
// runs towers (the shares of a global batch) on its device, one by one. A CPU device has as many
// lanes as its cores allow at tower_threads cores each, each with an OpenMP team for the kernels. A
// GPU has one lane, whose thread has it as current device and submits its work.
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

namespace spire {

// Thrown in the threads that wait at a broken barrier, not in the thread that failed.
struct BarrierBroken {};

inline void spin_pause() {  // one step of a spin loop
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Waits until `word` differs from `old`: spins for a while, then sleeps. An acquire operation.
void wait_while_equal(const std::atomic<uint32_t>& word, uint32_t old);

// A reusable barrier of threads. A thread that fails breaks it; the others get an exception.
class Barrier {
 public:
  explicit Barrier(int threads) : threads_(threads) {}
  void wait();         // throws BarrierBroken if the barrier is or gets broken
  void abort_waits();  // breaks the barrier: releases all threads that wait now or later
  void reset();        // mends a broken barrier. REQUIRES: no thread waits

 private:
  const int threads_;
  std::atomic<int> waiting_{0};
  std::atomic<uint32_t> phase_{0};  // counts completed and broken phases
  std::atomic<bool> broken_{false};
};

// While it lives, the calling thread flushes denormals to zero, as the lanes do.
class DenormalsFlushed {
 public:
  DenormalsFlushed();
  ~DenormalsFlushed();
  DenormalsFlushed(const DenormalsFlushed&) = delete;
  DenormalsFlushed& operator=(const DenormalsFlushed&) = delete;

 private:
  uint32_t before_ = 0;
};

struct LaneSpec {
  DeviceId device;
  // The cores on which all the lane's threads may run; empty: those of the creating thread. A
  // pinned lane has one core per thread, but no thread is bound to a single core, because threads
  // that libgomp restarts inherit the whole set.
  std::vector<int> cores;
  int threads = 1;  // size of the OpenMP team
  // The thread that calls lead() is the lane: no thread is started. For a team of one lane that has
  // one thread on a CPU; cores is ignored.
  bool on_caller = false;
};

class CrowdedCores;

// All lanes of a process. lead() runs a function on lane 0; within that function, parallel() runs
// another function on all lanes. The lanes' threads flush denormals to zero.
class LaneTeam {
 public:
  // Starts all threads of all lanes; lane 3's is named "<name> 3". Throws Error(device) if the
  // system does not allow that many threads.
  explicit LaneTeam(std::vector<LaneSpec> lanes, const std::string& name = "lane");
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

  int size() const { return static_cast<int>(specs_.size()); }
  const LaneSpec& spec(int lane) const { return specs_[static_cast<size_t>(lane)]; }

  // Calls body() on lane 0's thread and waits. Throws its exception. One caller at a time, or any
  // number where the callers are the lane.
  void lead(const std::function<void()>& body);

  // Calls body(lane) on every lane and waits for all. If lanes have failed, rethrows the exception
  // of the one with the lowest index. Allocates nothing. REQUIRES: called within lead().
  void parallel(const std::function<void(int lane)>& body);

  void barrier() { barrier_.wait(); }  // REQUIRES: every lane calls it, within parallel()

 private:
  void start(const std::string& name);
  void release();  // lets all lanes' threads end
  void run_lane(int lane);
  void run_leader();
  void run_follower(int lane);
  void run_body(int lane);
  void settle(int lane);  // moves the lane's threads to its present cores

  const std::vector<LaneSpec> specs_;
  Barrier barrier_;

  std::mutex lead_mutex_;
  std::condition_variable lead_changed_;
  const std::function<void()>* lead_body_ = nullptr;  // protected by lead_mutex_; null: idle
  std::exception_ptr lead_error_;  // written by the leader while lead_body_ is set

  // Lanes 1, 2, ... are followers. generation_ tells them that body_ is set; running_ tells the
  // leader that they have set their errors_.
  std::atomic<uint32_t> generation_{0};  // counts calls of parallel()
  std::atomic<uint32_t> running_{0};     // number of followers still inside body_
  std::atomic<bool> quit_{false};
  const std::function<void(int)>* body_ = nullptr;
  std::vector<std::exception_ptr> errors_;  // of the current parallel(), one per lane

  std::unique_ptr<CrowdedCores> crowded_cores_;  // null: no lane has a team
  std::vector<std::jthread> threads_;  // last: joined before anything they use is destroyed
};

// Barrier of the lanes' streams: work that a lane submits after meet() runs after all work that any
// lane has submitted before its meet().
class StreamBarrier {
 public:
  // streams: one per lane of the team. Team and streams must outlive this.
  StreamBarrier(LaneTeam& team, std::vector<Stream*> streams);

  // Allocates nothing. Throws BarrierBroken. REQUIRES: every lane calls it, within parallel().
  void meet(int lane);

 private:
  LaneTeam& team_;
  std::vector<Stream*> streams_;
  std::vector<std::unique_ptr<Event>> events_[2];  // two sets, used in turn, of one event per lane
  std::vector<size_t> turn_;                       // per lane: index of the set to use next
};

}  // namespace spire

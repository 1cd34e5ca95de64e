// The lanes of a process: persistent CPU threads that run towers.
//
// A CPU device has as many lanes as its cores allow at tower_threads each. A lane runs its towers
// one after another; the kernels inside use its OpenMP team. A GPU has one lane, whose thread
// submits the GPU's work and has the GPU as its current device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/device/barrier.h"
#include "engine/device/device.h"

namespace spire::inline device {

struct LaneSpec {
  DeviceId device;
  // Cores of all threads of the lane; empty: those of the team's creator. A pinned lane has a core
  // per thread, but no thread is bound to one: libgomp ends and restarts threads of a team, and
  // they inherit the leading thread's cores.
  std::vector<int> cores;
  int threads = 1;  // size of the OpenMP team
};

// Lane 0 leads: lead() runs a function on its thread; from there parallel() runs another on all
// lanes at once, the leader included. So a step hands nothing from thread to thread.
class LaneTeam {
 public:
  // Starts all threads of all lanes, named by `name` and number. Throws Error(device) if the system
  // does not start that many.
  explicit LaneTeam(std::vector<LaneSpec> lanes, const std::string& name = "lane");
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

  int size() const { return static_cast<int>(specs_.size()); }
  const LaneSpec& spec(int lane) const { return specs_[static_cast<size_t>(lane)]; }

  // Runs `body` on lane 0's thread and returns when it is done. Rethrows what it throws.
  void lead(const std::function<void()>& body);

  // Runs body(lane) on every lane and returns when all are done. Rethrows the exception of the
  // first lane that failed, by index. Allocates nothing. REQUIRES: called from inside lead().
  void parallel(const std::function<void(int lane)>& body);

  // REQUIRES: called by every lane from inside parallel().
  void barrier() { barrier_.wait(); }

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

}  // namespace spire::inline device

// Lanes: the persistent CPU threads that run towers. A CPU device has as many lanes as its cores
// allow at tower_threads each; a lane runs its towers one after another, with an OpenMP team of
// `threads` for the kernels inside. A GPU has one lane, whose thread gives it work; the GPU is that
// thread's current device.
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
  // Where all its threads run; of a pinned lane as many as it has threads. Not one core a thread:
  // OpenMP ends threads of a team that a smaller loop does not need, and those it starts later have
  // the cores of the thread that leads the team. Empty: those of the lane team's creator.
  std::vector<int> cores;
  int threads = 1;
};

// A team's lane 0 leads: lead() runs a function on its thread, and from there parallel() runs
// another on all lanes at once, the leader included. So nothing is handed over between threads
// inside a step.
class LaneTeam {
 public:
  // name: of its threads, which the lane's number follows. All threads of all lanes run when this
  // returns. Throws Error(device) where the system does not start as many.
  explicit LaneTeam(std::vector<LaneSpec> lanes, const std::string& name = "lane");
  ~LaneTeam();
  LaneTeam(const LaneTeam&) = delete;
  LaneTeam& operator=(const LaneTeam&) = delete;

  int size() const { return static_cast<int>(specs_.size()); }
  const LaneSpec& spec(int lane) const { return specs_[static_cast<size_t>(lane)]; }

  // Runs `body` on lane 0's thread and returns when it has; rethrows what it throws.
  void lead(const std::function<void()>& body);

  // REQUIRES: called from inside lead(). Runs body(lane) on every lane and returns when all have;
  // rethrows the first exception by lane index. Allocates nothing.
  void parallel(const std::function<void(int lane)>& body);

  // REQUIRES: called by every lane from inside parallel().
  void barrier() { barrier_.wait(); }

 private:
  void release();  // the lanes end
  void run_lane(int lane);
  void run_leader();
  void run_follower(int lane);
  void run_body(int lane);

  const std::vector<LaneSpec> specs_;
  Barrier barrier_;
  std::mutex lead_mutex_;
  std::condition_variable lead_changed_;
  const std::function<void()>* lead_body_ = nullptr;  // protected by lead_mutex_; null: idle
  std::atomic<uint32_t> generation_{0};               // of parallel()
  std::atomic<uint32_t> running_{0};                  // followers still inside body
  std::atomic<bool> quit_{false};
  const std::function<void(int)>* body_ = nullptr;
  std::exception_ptr lead_error_;
  std::vector<std::exception_ptr> errors_;  // of parallel(), one a lane
  std::vector<std::jthread> threads_;
};

}  // namespace spire::inline device

// What lanes do about other programs on their cores. The threads of a lane's OpenMP team wait for
// each other several times in each step. Where another program runs on the core of one of them, all
// wait until it gets its next time slice, and libgomp lets them spin meanwhile for a slice of their
// own: a step that takes 1 ms then takes 50. So while a core is not to be had for each thread, the
// teams share the cores that are left, on which their threads take turns. Results do not change, as
// a team keeps its size.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/device/load/other_load.h"
#include "engine/device/topology.h"

namespace spire::inline device {

struct LaneSpec;

// Returns how many of the cores are left to threads where others use so many; 0: enough, which is
// one for each thread (or all cores, for more threads).
int cores_left(double others, int threads, int cores);

// Gives each of the lanes its part of the cores; lanes share them if there are fewer cores.
std::vector<std::vector<int>> divided_among(const std::vector<int>& cores, int lanes);

// While it lives, the OpenMP threads of the process take turns on the given cores, as a thread that
// waits for another one there soon lets it run.
// - OpenMP's waits spin for microseconds, not milliseconds: libgomp does so where it has more
//   threads than the process has cores (GOMP_SPINCOUNT in its manual), and this holds as many.
// - oneDNN's own waits spin without end. So on each of the cores a thread wakes every half
//   millisecond, at which the kernel looks whose turn it is; by itself it does so every few.
// Does nothing where the system refuses the threads; runs are slower then, and all else is well.
class Turns {
 public:
  explicit Turns(std::vector<int> cores);
  ~Turns();
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

 private:
  void hold(int number);  // on each of the threads

  const std::vector<int> cores_;
  std::atomic<bool> end_{false};
  std::jthread holder_;
};

// Watches what others use of the cores of some lanes, five times a second. A thread of its own
// decides; the threads of a lane move when the lane next calls settle().
class CrowdedCores {
 public:
  // Throws what start_thread() throws. root: the folder that contains proc; tests have one of their
  // own.
  explicit CrowdedCores(const std::vector<LaneSpec>& lanes, std::filesystem::path root = "/");
  ~CrowdedCores();
  CrowdedCores(const CrowdedCores&) = delete;
  CrowdedCores& operator=(const CrowdedCores&) = delete;

  // Moves the calling thread and its OpenMP team to the cores that the lane has now, if they have
  // changed. Allocates nothing and seldom waits.
  void settle(int lane);

  // By how many of the cores others use; unknown changes nothing. Called by one thread at a time.
  void decide(std::optional<double> others);

 private:
  void watch();
  std::vector<int> take(int count);

  const std::filesystem::path root_;
  std::vector<std::vector<int>> usual_;  // cores of each lane
  std::vector<int> threads_;             // of each lane's team
  std::vector<int> cores_;               // of all lanes together
  int all_threads_ = 0;
  int left_ = 0;  // cores that are shared now; 0: each lane has its usual ones
  CoreLocks locks_;
  std::unique_ptr<Turns> turns_;

  std::mutex mutex_;
  std::vector<std::vector<int>> now_;  // guarded by mutex_, as stop_
  bool stop_ = false;
  std::condition_variable changed_;
  std::atomic<uint32_t> decisions_{0};  // changes of now_
  std::vector<uint32_t> settled_;       // per lane: the last change it has followed

  std::jthread watcher_;  // last: it uses the others
};

}  // namespace spire::inline device

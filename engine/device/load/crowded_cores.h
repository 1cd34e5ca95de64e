// What lanes do about other programs on their cores. The threads of a lane's OpenMP team wait for
// each other several times in each step. Where another program runs on the core of one of them, all
// wait until it gets its next time slice, and libgomp lets them spin meanwhile for a slice of their
// own: a step that takes 1 ms then takes 50. So while a core is not to be had for each thread, the
// teams share the cores that others use least, on which their threads take turns. Results do not
// change, as a team keeps its size.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "engine/device/topology.h"

namespace spire {

struct LaneSpec;

// Returns how many of the cores are left to threads where others use so many; 0: enough, which is
// one for each thread (or all cores, for more threads).
int cores_left(double others, int threads, int cores);

// When teams share fewer cores, how many, and which: without threads or system, so tests tell it
// the time. A neighbor that computes in bursts must not move the teams at each of them. So the
// first decision to share takes two or three readings; from then on there is one in each `pause`,
// by the heaviest load since the one before. Fewer cores are taken at once, more (or all) after
// three decisions in a row that would have done so.
class CrowdDecisions {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // threads: of all teams that use these cores.
  CrowdDecisions(int threads, std::vector<int> cores, Time::duration pause);

  // Adds a reading of what others use of each core. shared: on how many cores the teams are now; 0:
  // all. Returns on how many they are to be, which may be as many, but then on others; empty: there
  // is nothing to decide.
  std::optional<int> add(std::span<const double> others, int shared, Time now);

  // Returns the cores by what others used of them before the last decision, the least first. To
  // leave one of those that are `held` takes a clear difference.
  std::vector<int> emptiest(const std::vector<int>& held) const;

 private:
  double newest() const;  // what others use of all cores
  void take_mean();

  const int threads_;
  const std::vector<int> cores_;
  const Time::duration pause_;
  std::vector<std::vector<double>> readings_;  // since the last decision; without one the newest
  std::vector<double> mean_;                   // of each core, as of the last decision
  double most_ = 0;                            // of newest() since the last decision
  int quiet_ = 0;  // decisions in a row that would have taken more cores
  Time next_;      // no decision before
};

// Gives each of the lanes its part of the cores; lanes share them if there are fewer cores.
std::vector<std::vector<int>> divided_among(const std::vector<int>& cores, int lanes);

// Between begin() and end() the OpenMP threads of the process take turns on some cores: a thread
// that waits for another one there soon lets it run.
// - OpenMP's waits spin for microseconds, not milliseconds: libgomp does so where it has more
//   threads than the process has cores (GOMP_SPINCOUNT in its manual), and this holds as many.
// - oneDNN's own waits spin without end. So on each of the cores a thread wakes every half
//   millisecond, at which the kernel looks whose turn it is; by itself it does so every few.
class Turns {
 public:
  explicit Turns(size_t most) : most_(most) {}  // cores at once
  ~Turns() { end(); }
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // Also moves turns that have begun to other cores. False: the system refused the threads, and
  // there are no turns.
  bool begin(const std::vector<int>& cores);
  void end();

 private:
  void run(int count);       // on a thread that gets so many OpenMP threads
  void hold(size_t number);  // on each of these

  const size_t most_;
  int proven_ = 0;  // threads that the system did not refuse

  std::mutex mutex_;
  std::vector<std::vector<int>> places_;  // guarded by mutex_: the core of each thread that wakes
  std::atomic<uint32_t> changes_{0};      // of places_, and of end_
  std::atomic<bool> end_{false};
  std::atomic<int> started_{0};  // threads
  std::jthread holder_;
};

// Watches what others use of the cores of some lanes, five times a second. A thread of its own
// decides; the threads of a lane move when the lane next calls settle(). Where the system does not
// tell what others use, has no memory left, or once refuses the threads for turns, nothing changes.
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

  // others: what others use of each of the lanes' cores, ascending; empty: unknown. Called by one
  // thread at a time. After an exception all is as before.
  void decide(const std::optional<std::vector<double>>& others, CrowdDecisions::Time now);

 private:
  void watch();
  std::vector<int> choose(int count);
  bool lock_core(int core);
  void move_lanes(std::vector<std::vector<int>> next);

  const std::filesystem::path root_;
  std::vector<std::vector<int>> usual_;  // cores of each lane
  std::vector<int> threads_;             // of each lane's team
  std::vector<int> cores_;               // of all lanes together

  // Of the thread that decides.
  std::optional<CrowdDecisions> decisions_;
  std::vector<int> shared_;         // cores that the lanes share; empty: each has its usual ones
  std::map<int, CoreLocks> locks_;  // on these, so that another run on this host takes others
  std::optional<Turns> turns_;
  bool refused_ = false;  // by the system: threads for turns

  std::mutex mutex_;
  std::vector<std::vector<int>> now_;  // guarded by mutex_, as stop_
  bool stop_ = false;
  std::condition_variable changed_;
  std::atomic<uint32_t> moves_{0};  // changes of now_
  std::vector<uint32_t> settled_;   // per lane: the last change it has followed

  std::jthread watcher_;  // last: it uses the others
};

}  // namespace spire

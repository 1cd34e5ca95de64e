// What lanes do when other programs run on their cores. The threads of a lane's OpenMP team wait
// for each other several times in each step. If another program runs on one thread's core, all wait
// until that thread gets its next time slice, and libgomp lets each spin meanwhile for a time slice
// of its own: a step of 1 ms then takes 50 ms. So while there is not a free core for each thread,
// the teams share the cores that other programs use least, and their threads take turns there.
// Results do not change, because a team keeps its size.
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

// Returns how many cores the threads should share while other programs use `others` of `cores`. The
// threads need a core each, or all cores if there are fewer cores than threads. 0: they lack little
// of that and do not share.
int cores_left(double others, int threads, int cores);

// Decides when teams share fewer cores, how many, and which. It starts no threads and reads no
// clock, so that tests can pass it the time. Another program that computes in bursts must not move
// the teams at each burst. So the first decision to share needs two or three readings of a load.
// While the teams share, there is one decision per `pause`, by the heaviest load since the previous
// one. A decision for fewer cores takes effect at once, one for more (or all) cores only as the
// third such in a row.
class CrowdDecisions {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // threads: of all teams that use these cores.
  CrowdDecisions(int threads, std::vector<int> cores, Time::duration pause);

  // Adds a reading. others: the share of each core that other programs use, in the order of
  // `cores`. shared: number of cores that the teams share now; 0: they do not share. Returns how
  // many cores, the first of emptiest(), the teams share from now on; 0: they stop sharing;
  // nullopt: nothing changes.
  std::optional<int> add(std::span<const double> others, int shared, Time now);

  // Returns all cores, those that others use least first, as measured for the last decision. Cores
  // in `held` (shared now) count as a quarter of a core less used: teams move only for a clear
  // gain.
  std::vector<int> emptiest(const std::vector<int>& held) const;

 private:
  double newest() const;  // what others use of all cores
  void take_mean();

  const int threads_;
  const std::vector<int> cores_;
  const Time::duration pause_;
  // While the teams share, all readings since the last decision; else the newest few.
  std::vector<std::vector<double>> readings_;
  std::vector<double> mean_;  // of each core, as of the last decision
  double most_ = 0;           // of newest() since the last decision
  int quiet_ = 0;             // decisions in a row that would have taken more cores
  Time next_;                 // earliest time of the next decision
};

// Returns each lane's part of the cores; if there are fewer cores than lanes, lanes share cores.
std::vector<std::vector<int>> divided_among(const std::vector<int>& cores, int lanes);

// Between begin() and end() the OpenMP threads of the process take turns on some cores: a thread
// that waits for another thread of the same core soon lets it run.
// - OpenMP's waits spin for microseconds, not milliseconds: libgomp does so while it has more
//   threads than the process has cores (GOMP_SPINCOUNT in its manual). So CoreTurns adds threads.
// - oneDNN's own waits spin without end. So CoreTurns wakes a thread on each core every half
//   millisecond, and the kernel then decides which thread runs; by itself it does so every few ms.
class CoreTurns {
 public:
  explicit CoreTurns(size_t most) : most_(most) {}  // most: the most cores that a begin() gets
  ~CoreTurns() { end(); }
  CoreTurns(const CoreTurns&) = delete;
  CoreTurns& operator=(const CoreTurns&) = delete;

  // A second call moves the turns to other cores. Returns false if the system refuses the threads:
  // then there are no turns.
  bool begin(const std::vector<int>& cores);
  void end();

 private:
  void run(int count);       // on a thread with an OpenMP team of that size
  void hold(size_t number);  // on each thread of the team

  const size_t most_;
  int proven_ = 0;  // threads that the system did not refuse

  std::mutex mutex_;
  std::vector<std::vector<int>> places_;  // guarded by mutex_; [n]: the one core of waking thread n
  std::atomic<uint32_t> changes_{0};      // of places_, and of end_
  std::atomic<bool> end_{false};
  std::atomic<int> started_{0};  // threads
  std::jthread holder_;
};

// Reads five times a second, on a thread of its own, what other programs use of the lanes' cores,
// and decides which cores the lanes share. A lane's threads move when the lane next calls settle().
// Nothing moves while the load of others is unknown or no memory is left. Nothing moves any more
// once the system has refused threads to CoreTurns.
class CrowdedCores {
 public:
  // Throws what start_thread() throws. root: the folder that contains proc; tests replace it.
  explicit CrowdedCores(const std::vector<LaneSpec>& lanes, std::filesystem::path root = "/");
  ~CrowdedCores();
  CrowdedCores(const CrowdedCores&) = delete;
  CrowdedCores& operator=(const CrowdedCores&) = delete;

  // Moves the calling thread and its OpenMP team to the cores that the lane has now, if they have
  // changed. Allocates nothing and seldom waits.
  void settle(int lane);

  // Takes a reading and decides; the object's own thread calls it, in tests the test. others: what
  // other programs use of each of the lanes' cores, in ascending order of cores; nullopt: unknown.
  // One thread at a time may call it. If it throws, nothing has changed.
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
  std::map<int, CoreLocks> locks_;  // on `shared_`, so that other runs take other cores
  std::optional<CoreTurns> turns_;
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

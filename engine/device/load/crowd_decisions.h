// When teams share fewer cores because of other programs, how many, and which: decisions without
// threads or system, so tests tell them the time.
#pragma once
#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace spire {

// Returns how many of the cores are left to threads where others use so many; 0: enough, which is
// one for each thread (or all cores, for more threads).
int cores_left(double others, int threads, int cores);

// A neighbor that computes in bursts must not move the teams at each of them. So the first decision
// to share takes two or three readings; from then on there is one in each `pause`, by the heaviest
// load since the one before. Fewer cores are taken at once, more (or all) after three decisions in
// a row that would have done so.
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

}  // namespace spire

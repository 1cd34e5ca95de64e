// How a failure is found, and which of several is named: pure functions of what is known of the
// ranks. Times are seconds on this rank's own clock, and passed in.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/process/watchdog/thread_status.h"
#include "engine/process/watchdog/watchdog.h"

namespace spire::inline process {

struct RankView {
  int rank = 0;
  std::string name;            // "rank 1 (host b, pid 77)"
  std::vector<PhaseRow> rows;  // its last table; empty: it watches no board
  double seen = 0;             // when that table arrived
  double heard = 0;            // when it last gave a sign of life
  double period = 0;           // seconds; it gives one that often; 0: not yet known
  bool left = false;           // it said that it is done
  bool lost = false;           // the connection to it has ended
};

struct PhaseLimit {
  double seconds = 0;     // infinite for idle and waiting
  std::string_view name;  // "timeouts.step"
};
PhaseLimit limit_of(Phase phase, const WatchdogLimits& limits);
double beat_period(const WatchdogLimits& limits);  // seconds, in [0.02, 1]

// "step 37: cpu:0 in backward, cpu:1 waiting"; empty for no rows.
std::string position_text(const std::vector<PhaseRow>& rows);
// A line a thread: "rank 1 (host b, pid 77)  cpu:0  backward of step 37  for 10.2 s". One that is
// idle is left out where others of its rank are not.
std::string table_text(std::span<const RankView> ranks, double now);

// The row that has been longest in its phase, if that is longer than the phase's limit.
std::optional<Failure> find_stall(const RankView& self, const WatchdogLimits& limits, double now);
// `since`: silence before that does not count.
std::optional<Failure> find_silence(const RankView& peer, const WatchdogLimits& limits,
                                    double since, double now);
// how: "ended without a word (killed?)".
Failure death_of(const RankView& peer, std::string_view how);
// No row of any rank works, one at least waits, and all were seen so for longer than the step limit
// and `slack` seconds.
std::optional<Failure> find_deadlock(std::span<const RankView> ranks, const WatchdogLimits& limits,
                                     double slack);

// Failures in the order of their arrival. The first cause wins, however many consequences came
// before it; without one the first consequence does.
class FailureArbiter {
 public:
  // How long to wait for another word, seconds from the first failure on, when a cause is known and
  // when only consequences are.
  struct Patience {
    double cause = 0;
    double consequence = 0;
  };
  void add(const Failure& failure, double now);
  bool has_cause() const { return cause_.has_value(); }
  bool empty() const { return !first_; }
  std::optional<double> due(const Patience& patience) const;  // when winner() will name one
  std::optional<Failure> winner(const Patience& patience, double now) const;

 private:
  std::optional<Failure> first_, cause_;
  double opened_ = 0;
};

}  // namespace spire::inline process

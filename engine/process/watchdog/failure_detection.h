// Detection of failures in the states of the ranks, and choice of the cause among several failures.
// Nothing here reads a clock: callers pass times, in seconds on this rank's clock.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spire/run_config.h>
#include <spire/world.h>

#include "engine/process/watchdog/thread_status.h"

namespace spire {

struct PhaseLimit {
  double seconds = 0;     // infinite for idle and waiting
  std::string_view name;  // its key in the config: "timeouts.step"
};
// Returns how long a thread may make no progress in the phase.
PhaseLimit limit_of(Phase phase, const TimeoutConfig& limits);
double heartbeat_period(const TimeoutConfig& limits);  // seconds, in [0.02, 1]

// The state of a rank as another one knows it.
struct RankView {
  int rank = 0;
  std::string name;            // "rank 1 (host b, pid 77)"
  std::vector<PhaseRow> rows;  // its threads, from its last heartbeat; empty: unknown
  double seen = 0;             // when `rows` arrived
  double last_heard = 0;       // when its last message of any kind arrived
  double period = 0;           // seconds between its heartbeats; 0: not yet known
  bool done = false;           // it reported that it is done
  bool lost = false;           // the connection to it has ended
};

std::string position_text(const std::vector<PhaseRow>& rows);  // "step 37: cpu:0 in backward, ..."
// Returns one line per thread: "rank 1 (host b, pid 77)  cpu:0  backward of step 37  for 10.2 s".
// Omits idle threads unless all threads of their rank are idle.
std::string table_text(std::span<const RankView> ranks, double now);

// Returns a failure if a thread has been in its phase for longer than the phase's limit; of several
// such threads, about the one that has been in its phase for the longest time.
std::optional<Failure> find_stall(const RankView& self, const TimeoutConfig& limits, double now);
// Returns a failure if the peer has sent nothing for longer than its phase allows, counted from the
// time `since` at the earliest.
std::optional<Failure> find_silence(const RankView& peer, const TimeoutConfig& limits, double since,
                                    double now);
Failure death_of(const RankView& peer, std::string_view how);  // how: ControlChannel::ending()
// Returns a failure if all ranks wait for each other: no thread of any rank has worked for longer
// than the step limit plus `slack` seconds, and at least one is waiting.
std::optional<Failure> find_deadlock(std::span<const RankView> ranks, const TimeoutConfig& limits,
                                     double slack);

// Chooses the failure that ends the run: the first one reported that is a cause, or else the first
// consequence (Failure::consequence).
class FailureArbiter {
 public:
  // Seconds from the first report to the decision.
  struct Delays {
    double cause = 0;        // if a cause is known
    double consequence = 0;  // if only consequences are
  };
  void add(const Failure& failure, double now);
  bool has_cause() const { return cause_.has_value(); }
  bool empty() const { return !first_; }
  std::optional<double> due(const Delays& delays) const;  // when decide() will return a failure
  std::optional<Failure> decide(const Delays& delays, double now) const;

 private:
  std::optional<Failure> first_, cause_;
  double first_at_ = 0;
};

}  // namespace spire

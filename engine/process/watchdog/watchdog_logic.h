// The state machine of one rank's watchdog, without threads, sockets or clocks: it receives
// messages and times, and returns messages and the run's failure.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/process/watchdog/control_channel.h"
#include "engine/process/watchdog/failure_detection.h"

namespace spire {

class WatchdogLogic {
 public:
  // Sends a message to a rank. Called from within the functions below.
  using Send = std::function<void(int rank, const ControlMessage& message)>;

  // peers: rank and name of each rank to which this rank has a link.
  WatchdogLogic(int rank, const std::string& self, std::vector<RankView> peers, Send send);

  // Events at the time `now`, in seconds, which never decreases.
  void set_limits(const TimeoutConfig& limits, double now);
  void receive(int rank, const ControlMessage& message, double now);
  // The link to `rank` has ended; called once.
  void lost(int rank, const std::string& how, double now);
  void report(const Failure& failure, double now);  // this rank found a failure
  void leave();                                     // this rank is done

  // Checks all ranks and takes the decisions that are due. Call it after events and at the time
  // wake_at(). rows: the phases of this rank's threads.
  void turn(std::vector<PhaseRow> rows, double now);
  double wake_at(double now) const;

  bool leaving() const { return leaving_; }
  const std::optional<Failure>& run_failure() const { return run_failure_; }
  bool cut_off() const { return cut_off_; }  // true: rank 0 is lost or silent
  bool all_done() const { return all_done_; }
  // Returns true if the run is over and the other ranks know it, or have had the time to learn it.
  bool settled(double now) const;

 private:
  // Returns true if no other rank takes part in a decision.
  bool alone() const { return ranks_.size() == 1 || all_done_; }
  bool over() const { return run_failure_ || all_done_; }
  FailureArbiter::Delays delays() const;
  RankView& self() { return ranks_[self_]; }
  RankView& view(int rank);
  void send_to_all(const ControlMessage& message);
  void update_self(std::vector<PhaseRow> rows, double now);
  void check(double now);
  void send_heartbeat(double now);
  void end_if_all_done(double now);
  void decide(double now);

  const int rank_;
  size_t self_ = 0;              // index of this rank in ranks_
  std::vector<RankView> ranks_;  // this rank and its peers, ascending
  Send send_;
  TimeoutConfig limits_;
  double limits_since_ = 0;
  double last_turn_ = 0, next_heartbeat_ = 0;
  bool leaving_ = false, all_done_ = false;
  bool cut_off_ = false;               // no decision will come from rank 0
  std::vector<int> reported_, acked_;  // ranks that reported a failure, or acknowledged the end
  FailureArbiter arbiter_;
  std::optional<Failure> run_failure_;
  double ack_deadline_ = 0;
};

}  // namespace spire

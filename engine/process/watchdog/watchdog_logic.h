// One rank's part in watching the run, without threads, sockets or clocks: messages and times go
// in, messages and a verdict come out.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/process/watchdog/control_message.h"
#include "engine/process/watchdog/failure_arbiter.h"

namespace spire::inline process {

class WatchdogLogic {
 public:
  // Called from within the functions below.
  using Send = std::function<void(int rank, const ControlMessage& message)>;

  // peers: rank and name of those that this rank has a link to.
  WatchdogLogic(int rank, const std::string& self, std::vector<RankView> peers, Send send);

  // What happened, at second `now`; times never go back.
  void set_limits(const WatchdogLimits& limits, double now);
  void receive(int rank, const ControlMessage& message, double now);
  void lost(int rank, const std::string& how, double now);  // the link's end, once
  void report(const Failure& failure, double now);          // on this rank
  void leave();

  // Looks at it all and acts: after the above, and when wake_at() has come. rows: this rank's.
  void turn(std::vector<PhaseRow> rows, double now);
  double wake_at(double now) const;

  bool leaving() const { return leaving_; }
  const std::optional<Failure>& verdict() const { return verdict_; }
  bool cut_off() const { return cut_off_; }  // from rank 0: it is lost, or silent
  bool left() const { return done_; }        // all ranks are done
  // The others know of the verdict or of the end of the run, or had their time to hear of it.
  bool settled(double now) const;

 private:
  // Nobody else to ask or to tell.
  bool alone() const { return ranks_.size() == 1 || done_; }
  bool over() const { return verdict_ || done_; }
  FailureArbiter::Patience patience() const;
  RankView& self() { return ranks_[self_]; }
  RankView& view(int rank);
  void send_to_all(const ControlMessage& message);
  void look_at_self(std::vector<PhaseRow> rows, double now);
  void check(double now);
  void beat(double now);
  void close_run(double now);
  void decide(double now);

  const int rank_;
  size_t self_ = 0;              // this rank's place in ranks_
  std::vector<RankView> ranks_;  // ascending
  Send send_;
  WatchdogLimits limits_;
  double limits_since_ = 0;
  double last_turn_ = 0, next_beat_ = 0;
  bool leaving_ = false, done_ = false;
  bool cut_off_ = false;             // no verdict will come from rank 0
  std::vector<int> spoken_, heard_;  // ranks that reported a failure; that acknowledged the end
  FailureArbiter ballot_;
  std::optional<Failure> verdict_;
  double told_by_ = 0;
};

}  // namespace spire::inline process

#include "engine/process/watchdog/watchdog_logic.h"

#include <algorithm>
#include <limits>

#include "engine/base/fail.h"

namespace spire {
namespace {

using Kind = ControlMessage::Kind;

constexpr double cause_seconds = 1;  // rank 0 waits for the cause of a consequence
constexpr double ack_seconds = 1;    // the others have to acknowledge the end
constexpr double abort_seconds = 5;  // the others wait for rank 0's decision
constexpr double pause_seconds = 2;  // between two turns: this process was stopped, or is starved

ControlMessage message_of(Kind kind, const Failure& failure = {}) {
  ControlMessage message;
  message.kind = kind;
  message.failure = failure;
  return message;
}

bool is_for_rank_0(Kind kind) {
  return kind == Kind::failure || kind == Kind::done || kind == Kind::ack;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

WatchdogLogic::WatchdogLogic(int rank, const std::string& self, std::vector<RankView> peers,
                             Send send)
    : rank_(rank), ranks_(std::move(peers)), send_(std::move(send)) {
  for (const RankView& peer : ranks_)
    require(peer.rank != rank && (rank == 0 || peer.rank == 0),
            "watchdog: a link from {} to rank {}", self, peer.rank);
  RankView own;
  own.rank = rank;
  own.name = self;
  ranks_.push_back(own);
  std::sort(ranks_.begin(), ranks_.end(),
            [](const RankView& a, const RankView& b) { return a.rank < b.rank; });
  for (size_t i = 0; i < ranks_.size(); ++i)
    if (ranks_[i].rank == rank) self_ = i;
}

RankView& WatchdogLogic::view(int rank) {
  auto found = std::find_if(ranks_.begin(), ranks_.end(),
                            [&](const RankView& view) { return view.rank == rank; });
  require(found != ranks_.end(), "watchdog: no link to rank {}", rank);
  return *found;
}

void WatchdogLogic::send_to_all(const ControlMessage& message) {
  for (const RankView& peer : ranks_)
    if (peer.rank != rank_ && !peer.lost) send_(peer.rank, message);
}

// Rank 0 decides at once on a cause. The others leave the decision to rank 0 unless it is gone.
FailureArbiter::Delays WatchdogLogic::delays() const {
  if (alone() || cut_off_) return {};
  if (rank_ == 0) return {0, std::max(cause_seconds, 2 * heartbeat_period(limits_))};
  return {abort_seconds, abort_seconds};
}

void WatchdogLogic::set_limits(const TimeoutConfig& limits, double now) {
  limits_ = limits;
  limits_since_ = now;
  next_heartbeat_ = now;
}

void WatchdogLogic::receive(int rank, const ControlMessage& message, double now) {
  RankView& peer = view(rank);
  peer.last_heard = now;
  // Heartbeats go both ways, other kinds only to rank 0 or only from it.
  if (message.kind != Kind::heartbeat && is_for_rank_0(message.kind) != (rank_ == 0)) return;
  switch (message.kind) {
    case Kind::heartbeat:
      peer.rows = message.rows;
      peer.period = message.period;
      peer.seen = now;
      break;
    case Kind::failure:
      arbiter_.add(message.failure, now);
      reported_.push_back(rank);
      break;
    case Kind::abort:
      if (!run_failure_) run_failure_ = message.failure;
      send_(rank, message_of(Kind::ack));
      break;
    case Kind::done:
      peer.done = true;
      break;
    case Kind::all_done:
      all_done_ = true;
      send_(rank, message_of(Kind::ack));
      break;
    case Kind::ack:
      acked_.push_back(rank);
      break;
  }
}

void WatchdogLogic::lost(int rank, const std::string& how, double now) {
  RankView& peer = view(rank);
  peer.lost = true;
  cut_off_ = rank_ != 0;
  // A rank that is done, or has reported why it ends, may close its connection.
  if (over() || peer.done || contains(reported_, rank)) return;
  Failure death = death_of(peer, how);
  if (rank_ != 0 && !self().rows.empty())
    death.text += fmt::format("; {} was at {}", self().name, position_text(self().rows));
  report(death, now);
}

void WatchdogLogic::report(const Failure& failure, double now) {
  // The first failure is sent, and the first cause after consequences.
  bool news = arbiter_.empty() || (!failure.consequence && !arbiter_.has_cause());
  arbiter_.add(failure, now);
  if (!news || rank_ == 0 || all_done_) return;
  send_heartbeat(now);  // for rank 0's table of phases
  send_to_all(message_of(Kind::failure, failure));
}

// Rank 0 counts its own `done` by self(); the others report theirs to it.
void WatchdogLogic::leave() {
  leaving_ = true;
  self().done = true;
  if (rank_ != 0) send_to_all(message_of(Kind::done));
}

void WatchdogLogic::turn(std::vector<PhaseRow> rows, double now) {
  // While this process was stopped, neither its threads nor its peers could show progress.
  if (now - last_turn_ > pause_seconds) limits_since_ = now;
  last_turn_ = now;
  update_self(std::move(rows), now);
  if (!over()) check(now);
  if (!over() && now >= next_heartbeat_) send_heartbeat(now);
  end_if_all_done(now);
  decide(now);
}

void WatchdogLogic::update_self(std::vector<PhaseRow> rows, double now) {
  // The limits count from set_limits() on.
  for (PhaseRow& row : rows) row.seconds = std::min(row.seconds, now - limits_since_);
  self().rows = std::move(rows);
  self().seen = self().last_heard = now;
}

void WatchdogLogic::check(double now) {
  if (auto stall = find_stall(self(), limits_, now)) report(*stall, now);
  for (const RankView& peer : ranks_) {
    if (peer.rank == rank_) continue;
    if (auto silence = find_silence(peer, limits_, limits_since_, now)) {
      cut_off_ = rank_ != 0;
      report(*silence, now);
    }
  }
  // Rank 0 alone knows the phases of all ranks. What it knows may be two heartbeats old.
  if (rank_ != 0) return;
  if (auto deadlock = find_deadlock(ranks_, limits_, 2 * heartbeat_period(limits_)))
    report(*deadlock, now);
}

void WatchdogLogic::send_heartbeat(double now) {
  ControlMessage message;
  message.period = heartbeat_period(limits_);
  message.rows = self().rows;
  send_to_all(message);
  next_heartbeat_ = now + message.period;
}

// Rank 0 ends the run when all ranks are done. A rank that is alone decides for itself.
void WatchdogLogic::end_if_all_done(double now) {
  auto is_done = [](const RankView& view) { return view.done; };
  if (over() || !leaving_ || (rank_ != 0 && !alone())) return;
  if (!std::all_of(ranks_.begin(), ranks_.end(), is_done)) return;
  send_to_all(message_of(Kind::all_done));
  all_done_ = true;
  ack_deadline_ = now + ack_seconds;
}

// Takes the arbiter's decision once its delay is over, and sends it to the others as an abort.
void WatchdogLogic::decide(double now) {
  if (run_failure_) return;
  run_failure_ = arbiter_.decide(delays(), now);
  if (!run_failure_) return;
  run_failure_->table = table_text(ranks_, now);
  if (rank_ == 0 && !all_done_) send_to_all(message_of(Kind::abort, *run_failure_));
  ack_deadline_ = now + ack_seconds;
}

// Rank 0 waits for the acknowledgements: TCP drops what was sent if its process ends too early.
bool WatchdogLogic::settled(double now) const {
  if (!over()) return false;
  if (rank_ != 0 || now >= ack_deadline_) return true;
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const RankView& peer) {
    return peer.rank == rank_ || peer.lost || contains(acked_, peer.rank);
  });
}

double WatchdogLogic::wake_at(double now) const {
  if (settled(now)) return std::numeric_limits<double>::infinity();
  if (over()) return ack_deadline_;
  return std::min(next_heartbeat_, arbiter_.due(delays()).value_or(next_heartbeat_));
}

}  // namespace spire

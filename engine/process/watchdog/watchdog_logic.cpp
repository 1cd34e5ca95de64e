#include "engine/process/watchdog/watchdog_logic.h"

#include <algorithm>
#include <limits>

namespace spire::inline process {
namespace {

using Kind = ControlMessage::Kind;

constexpr double kPatience = 1;  // seconds that rank 0 waits for a cause behind a consequence
constexpr double kTelling = 1;   // that it gives the others to acknowledge the end
constexpr double kVerdict = 5;   // that the others wait for rank 0's verdict
constexpr double kAbsence = 2;   // between turns: this process was stopped, or is starved

ControlMessage message_of(Kind kind, const Failure& failure = {}) {
  ControlMessage message;
  message.kind = kind;
  message.failure = failure;
  return message;
}

bool is_for_rank_0(Kind kind) {
  return kind == Kind::failure || kind == Kind::bye || kind == Kind::heard;
}

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

}  // namespace

WatchdogLogic::WatchdogLogic(int rank, const std::string& self, std::vector<RankView> peers,
                             Send send)
    : rank_(rank), ranks_(std::move(peers)), send_(std::move(send)) {
  for (const RankView& peer : ranks_)
    require(peer.rank != rank && (rank == 0 || peer.rank == 0), "watch: a link from {} to rank {}",
            self, peer.rank);
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
  require(found != ranks_.end(), "watch: no link to rank {}", rank);
  return *found;
}

void WatchdogLogic::send_to_all(const ControlMessage& message) {
  for (const RankView& peer : ranks_)
    if (peer.rank != rank_ && !peer.lost) send_(peer.rank, message);
}

// Rank 0 decides at once on a cause. The others leave it to rank 0, unless that is gone.
FailureArbiter::Patience WatchdogLogic::patience() const {
  if (alone() || cut_off_) return {};
  if (rank_ == 0) return {0, std::max(kPatience, 2 * beat_period(limits_))};
  return {kVerdict, kVerdict};
}

void WatchdogLogic::set_limits(const WatchdogLimits& limits, double now) {
  limits_ = limits;
  limits_since_ = now;
  next_beat_ = now;
}

void WatchdogLogic::receive(int rank, const ControlMessage& message, double now) {
  RankView& peer = view(rank);
  peer.heard = now;
  if (message.kind != Kind::beat && is_for_rank_0(message.kind) != (rank_ == 0)) return;
  switch (message.kind) {
    case Kind::beat:
      peer.rows = message.rows;
      peer.period = message.period;
      peer.seen = now;
      break;
    case Kind::failure:
      ballot_.add(message.failure, now);
      spoken_.push_back(rank);
      break;
    case Kind::verdict:
      if (!verdict_) verdict_ = message.failure;
      send_(rank, message_of(Kind::heard));
      break;
    case Kind::bye:
      peer.left = true;
      break;
    case Kind::farewell:
      done_ = true;
      send_(rank, message_of(Kind::heard));
      break;
    case Kind::heard:
      heard_.push_back(rank);
      break;
  }
}

void WatchdogLogic::lost(int rank, const std::string& how, double now) {
  RankView& peer = view(rank);
  peer.lost = true;
  cut_off_ = rank_ != 0;
  if (over() || peer.left || contains(spoken_, rank)) return;
  Failure death = death_of(peer, how);
  if (rank_ != 0 && !self().rows.empty())
    death.text += fmt::format("; {} was at {}", self().name, position_text(self().rows));
  report(death, now);
}

void WatchdogLogic::report(const Failure& failure, double now) {
  bool news = ballot_.empty() || (!failure.consequence && !ballot_.has_cause());
  ballot_.add(failure, now);
  if (!news || rank_ == 0 || done_) return;
  beat(now);  // rank 0's table shows where this rank was
  send_to_all(message_of(Kind::failure, failure));
}

void WatchdogLogic::leave() {
  leaving_ = true;
  self().left = true;
  if (rank_ != 0) send_to_all(message_of(Kind::bye));
}

void WatchdogLogic::turn(std::vector<PhaseRow> rows, double now) {
  // While this process slept, its clock was nobody's fault.
  if (now - last_turn_ > kAbsence) limits_since_ = now;
  last_turn_ = now;
  look_at_self(std::move(rows), now);
  if (!over()) check(now);
  if (!over() && now >= next_beat_) beat(now);
  close_run(now);
  decide(now);
}

// The limits count from set_limits() on.
void WatchdogLogic::look_at_self(std::vector<PhaseRow> rows, double now) {
  for (PhaseRow& row : rows) row.seconds = std::min(row.seconds, now - limits_since_);
  self().rows = std::move(rows);
  self().seen = self().heard = now;
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
  if (rank_ != 0) return;
  if (auto deadlock = find_deadlock(ranks_, limits_, 2 * beat_period(limits_)))
    report(*deadlock, now);
}

void WatchdogLogic::beat(double now) {
  ControlMessage message;
  message.period = beat_period(limits_);
  message.rows = self().rows;
  send_to_all(message);
  next_beat_ = now + message.period;
}

void WatchdogLogic::close_run(double now) {
  auto said_bye = [](const RankView& view) { return view.left; };
  if (over() || !leaving_ || (rank_ != 0 && !alone())) return;
  if (!std::all_of(ranks_.begin(), ranks_.end(), said_bye)) return;
  send_to_all(message_of(Kind::farewell));
  done_ = true;
  told_by_ = now + kTelling;
}

void WatchdogLogic::decide(double now) {
  if (verdict_) return;
  verdict_ = ballot_.winner(patience(), now);
  if (!verdict_) return;
  verdict_->table = table_text(ranks_, now);
  if (rank_ == 0 && !done_) send_to_all(message_of(Kind::verdict, *verdict_));
  told_by_ = now + kTelling;
}

bool WatchdogLogic::settled(double now) const {
  if (!over()) return false;
  if (rank_ != 0 || now >= told_by_) return true;
  return std::all_of(ranks_.begin(), ranks_.end(), [&](const RankView& peer) {
    return peer.rank == rank_ || peer.lost || contains(heard_, peer.rank);
  });
}

double WatchdogLogic::wake_at(double now) const {
  if (settled(now)) return std::numeric_limits<double>::infinity();
  if (over()) return told_by_;
  return std::min(next_beat_, ballot_.due(patience()).value_or(next_beat_));
}

}  // namespace spire::inline process

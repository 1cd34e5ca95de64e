#include "engine/process/watchdog/failure_arbiter.h"

#include <algorithm>
#include <limits>

namespace spire::inline process {
namespace {

constexpr double kSmallestPeriod = 0.02, kLargestPeriod = 1;
constexpr double kMissedBeats = 5;  // fewer are no silence, however small the limit

bool is_idle(const PhaseRow& row) {
  return row.phase == Phase::idle;
}

bool works(const PhaseRow& row) {
  return !is_idle(row) && row.phase != Phase::waiting;
}

std::string last_seen(const RankView& peer) {
  std::string position = position_text(peer.rows);
  return position.empty() ? "" : "; last seen at " + position;
}

// A rank may be silent for as long as its phase may last.
double silence_limit(const RankView& peer, const WatchdogLimits& limits) {
  if (peer.rows.empty()) return std::min(limits.start_seconds, limits.silence_seconds);
  double longest = limits.step_seconds;
  for (const PhaseRow& row : peer.rows)
    if (works(row)) longest = std::max(longest, limit_of(row.phase, limits).seconds);
  return std::min(longest, limits.silence_seconds);
}

std::string steps_text(int64_t first, int64_t last) {
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

}  // namespace

PhaseLimit limit_of(Phase phase, const WatchdogLimits& limits) {
  switch (phase) {
    case Phase::idle:
    case Phase::waiting:
      return {std::numeric_limits<double>::infinity(), ""};
    case Phase::start:
      return {limits.start_seconds, "timeouts.start"};
    case Phase::checkpoint:
      return {limits.checkpoint_seconds, "timeouts.checkpoint"};
    default:
      return {limits.step_seconds, "timeouts.step"};
  }
}

double beat_period(const WatchdogLimits& limits) {
  double smallest =
      std::min({limits.start_seconds, limits.step_seconds, limits.checkpoint_seconds});
  return std::clamp(smallest / 5, kSmallestPeriod, kLargestPeriod);
}

std::string position_text(const std::vector<PhaseRow>& rows) {
  if (rows.empty()) return {};
  std::string text = fmt::format("step {}:", rows.front().step);
  for (size_t i = 0; i < rows.size(); ++i)
    text += fmt::format("{} {} {}{}", i == 0 ? "" : ",", rows[i].thread,
                        works(rows[i]) ? "in " : "", phase_text(rows[i].phase, rows[i].detail));
  return text;
}

std::string table_text(std::span<const RankView> ranks, double now) {
  std::string table;
  for (const RankView& view : ranks) {
    if (view.rows.empty())
      table += fmt::format("{}  {}\n", view.name, view.left ? "done" : "phases unknown");
    bool rests = std::ranges::all_of(view.rows, is_idle);
    for (const PhaseRow& row : view.rows) {
      if (is_idle(row) && !rests) continue;  // has nothing to do, and nothing to do with it
      table += fmt::format("{}  {}  {}  for {:.1f} s\n", view.name, row.thread, place_text(row),
                           row.seconds + now - view.seen);
    }
  }
  if (!table.empty()) table.pop_back();
  return table;
}

std::optional<Failure> find_stall(const RankView& self, const WatchdogLimits& limits, double now) {
  const PhaseRow* worst = nullptr;
  double age = now - self.seen;
  for (const PhaseRow& row : self.rows)
    if (row.seconds + age > limit_of(row.phase, limits).seconds)
      if (!worst || row.seconds > worst->seconds) worst = &row;
  if (!worst) return {};
  PhaseLimit limit = limit_of(worst->phase, limits);
  Failure failure;
  failure.rank = self.rank;
  failure.text =
      fmt::format("{}, {}: no progress in {} for {:.1f} s ({}: {:g} s)", self.name, worst->thread,
                  place_text(*worst), worst->seconds + age, limit.name, limit.seconds);
  return failure;
}

std::optional<Failure> find_silence(const RankView& peer, const WatchdogLimits& limits,
                                    double since, double now) {
  double limit = std::max(silence_limit(peer, limits), kMissedBeats * peer.period);
  double silence = now - std::max(peer.heard, since);
  if (peer.lost || silence <= limit) return {};
  Failure failure;
  failure.rank = peer.rank;
  failure.text = fmt::format(
      "{} has sent no sign of life for {:.1f} s: it is stopped, or its host cannot reach {}{}",
      peer.name, silence, peer.rank == 0 ? "this rank's host" : "rank 0's host", last_seen(peer));
  return failure;
}

Failure death_of(const RankView& peer, std::string_view how) {
  Failure failure;
  failure.rank = peer.rank;
  failure.text = fmt::format("{} {}{}", peer.name, how, last_seen(peer));
  return failure;
}

std::optional<Failure> find_deadlock(std::span<const RankView> ranks, const WatchdogLimits& limits,
                                     double slack) {
  double shortest = std::numeric_limits<double>::infinity();
  int64_t first_step = std::numeric_limits<int64_t>::max(), last_step = 0;
  bool waits = false;
  for (const RankView& view : ranks) {
    if (view.rows.empty() && !view.left) return {};
    for (const PhaseRow& row : view.rows) {
      if (works(row)) return {};
      waits = waits || row.phase == Phase::waiting;
      shortest = std::min(shortest, row.seconds);
      first_step = std::min(first_step, row.step);
      last_step = std::max(last_step, row.step);
    }
  }
  if (!waits || shortest <= limits.step_seconds + slack) return {};
  Failure failure;
  failure.text =
      fmt::format("all {} wait for each other in {} for {:.1f} s (timeouts.step: {:g} s)",
                  ranks.size() > 1 ? "ranks" : "threads", steps_text(first_step, last_step),
                  shortest, limits.step_seconds);
  return failure;
}

void FailureArbiter::add(const Failure& failure, double now) {
  if (!first_) {
    first_ = failure;
    opened_ = now;
  }
  if (!cause_ && !failure.consequence) cause_ = failure;
}

std::optional<double> FailureArbiter::due(const Patience& patience) const {
  if (!first_) return {};
  return opened_ + (cause_ ? patience.cause : patience.consequence);
}

std::optional<Failure> FailureArbiter::winner(const Patience& patience, double now) const {
  auto time = due(patience);
  if (!time || now < *time) return {};
  return cause_ ? cause_ : first_;
}

}  // namespace spire::inline process

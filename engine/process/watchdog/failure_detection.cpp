#include "engine/process/watchdog/failure_detection.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace spire {
namespace {

constexpr double missed_heartbeats = 5;  // fewer are not silence, however small the limit

bool is_idle(const PhaseRow& row) {
  return row.phase == Phase::idle;
}

bool works(const PhaseRow& row) {
  return !is_idle(row) && row.phase != Phase::waiting;
}

// Where a GPU or NCCL may hang, behind a message.
std::string advice_for(const PhaseRow& row) {
  bool gpu = row.phase == Phase::setup || row.phase == Phase::device ||
             std::string_view(row.thread).starts_with("cuda:");
  return gpu ? "; docs/gpu_hangs.md says what to do" : "";
}

std::string last_seen(const RankView& peer) {
  std::string position = position_text(peer.rows);
  return position.empty() ? "" : "; last seen at " + position;
}

// A rank may be silent for as long as its phase may last: a process whose cores are all taken sends
// late. limits.silence bounds that, since a checkpoint may take an hour.
double silence_limit(const RankView& peer, const TimeoutConfig& limits) {
  if (peer.rows.empty()) return std::min(limits.start, limits.silence);
  double longest = limits.step;
  for (const PhaseRow& row : peer.rows)
    if (works(row)) longest = std::max(longest, limit_of(row.phase, limits).seconds);
  return std::min(longest, limits.silence);
}

std::string steps_text(int64_t first, int64_t last) {
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

}  // namespace

// A thread that waits is never the cause, so it has no limit: the one it waits for has.
PhaseLimit limit_of(Phase phase, const TimeoutConfig& limits) {
  switch (phase) {
    case Phase::idle:
    case Phase::waiting:
      return {std::numeric_limits<double>::infinity(), ""};
    case Phase::start:
      return {limits.start, "timeouts.start"};
    case Phase::checkpoint:
      return {limits.checkpoint, "timeouts.checkpoint"};
    default:
      return {limits.step, "timeouts.step"};
  }
}

// A fifth of the smallest limit, so that a stall is noticed soon after its limit.
double heartbeat_period(const TimeoutConfig& limits) {
  double smallest = std::min({limits.start, limits.step, limits.checkpoint});
  return std::clamp(smallest / 5, 0.02, 1.0);
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
      table += fmt::format("{}  {}\n", view.name, view.done ? "done" : "phases unknown");
    bool all_idle = std::ranges::all_of(view.rows, is_idle);
    for (const PhaseRow& row : view.rows) {
      if (is_idle(row) && !all_idle) continue;  // not involved
      table += fmt::format("{}  {}  {}  for {:.1f} s\n", view.name, row.thread, position_text(row),
                           row.seconds + now - view.seen);
    }
  }
  if (!table.empty()) table.pop_back();
  return table;
}

std::optional<Failure> find_stall(const RankView& self, const TimeoutConfig& limits, double now) {
  const PhaseRow* worst = nullptr;
  double age = now - self.seen;  // of the rows: time goes on after they were read
  for (const PhaseRow& row : self.rows)
    if (row.seconds + age > limit_of(row.phase, limits).seconds)
      if (!worst || row.seconds > worst->seconds) worst = &row;
  if (!worst) return {};
  PhaseLimit limit = limit_of(worst->phase, limits);
  Failure failure;
  failure.rank = self.rank;
  failure.text = fmt::format("{}, {}: no progress in {} for {:.1f} s ({}: {:g} s){}", self.name,
                             worst->thread, position_text(*worst), worst->seconds + age, limit.name,
                             limit.seconds, advice_for(*worst));
  return failure;
}

std::optional<Failure> find_silence(const RankView& peer, const TimeoutConfig& limits, double since,
                                    double now) {
  // A lost connection has been reported already. A slow heartbeat is not silence.
  double limit = std::max(silence_limit(peer, limits), missed_heartbeats * peer.period);
  double silence = now - std::max(peer.last_heard, since);
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

// A deadlock has no thread to blame: each waits, and waiting has no limit of its own.
std::optional<Failure> find_deadlock(std::span<const RankView> ranks, const TimeoutConfig& limits,
                                     double slack) {
  double shortest = std::numeric_limits<double>::infinity();
  int64_t first_step = std::numeric_limits<int64_t>::max(), last_step = 0;
  bool any_waits = false;
  std::string first;  // who waits for the earliest bucket
  std::pair earliest(std::numeric_limits<int64_t>::max(), int64_t{0});  // step and bucket
  for (const RankView& view : ranks) {
    if (view.rows.empty() && !view.done) return {};  // unknown: it may work
    for (const PhaseRow& row : view.rows) {
      if (works(row)) return {};
      any_waits = any_waits || row.phase == Phase::waiting;
      std::pair awaited(row.step, row.detail);
      if (row.phase == Phase::waiting && row.detail > 0 && awaited < earliest) {
        earliest = awaited;
        first = fmt::format("; {}, {}: {}{}", view.name, row.thread, position_text(row),
                            advice_for(row));
      }
      shortest = std::min(shortest, row.seconds);
      first_step = std::min(first_step, row.step);
      last_step = std::max(last_step, row.step);
    }
  }
  if (!any_waits || shortest <= limits.step + slack) return {};
  // The ranks may be in different steps, since they wait at different places.
  Failure failure;
  failure.text =
      fmt::format("all {} wait for each other in {} for {:.1f} s (timeouts.step: {:g} s){}",
                  ranks.size() > 1 ? "ranks" : "threads", steps_text(first_step, last_step),
                  shortest, limits.step, first);
  return failure;
}

// A cause wins even if its consequences on other ranks were reported before it. The delay counts
// from the first report: later ones do not extend it.
void FailureArbiter::add(const Failure& failure, double now) {
  if (!first_) {
    first_ = failure;
    first_at_ = now;
  }
  if (!cause_ && !failure.consequence) cause_ = failure;
}

std::optional<double> FailureArbiter::due(const Delays& delays) const {
  if (!first_) return {};
  return first_at_ + (cause_ ? delays.cause : delays.consequence);
}

std::optional<Failure> FailureArbiter::decide(const Delays& delays, double now) const {
  auto time = due(delays);
  if (!time || now < *time) return {};
  return cause_ ? cause_ : first_;
}

}  // namespace spire

#include "tools/process/attempt.h"

#include <algorithm>

#include <unistd.h>

#include <spire/error.h>

#include "tools/output/streams.h"

namespace spire {

namespace {

// For ranks that have joined, to learn of a failure, agree on its cause and end: the watchdog takes
// 5 s. One that has not joined would learn of it by timeouts.start alone.
constexpr std::chrono::seconds time_to_end{12}, time_to_join{2};

constexpr int unexpected = static_cast<int>(Category::unexpected);
constexpr int lost_rank = static_cast<int>(Category::collective);
constexpr int stopped = static_cast<int>(Category::interrupted);

// Distance from the root cause: the status with the lowest one explains the others.
int distance(const ExitStatus& status) {
  if (status.good()) return 6;
  if (status.forced) return 5;
  if (status.signal != 0) return 2;
  if (status.code == stopped) return 1;
  if (status.code == unexpected) return 3;
  return status.code == lost_rank ? 4 : 0;
}

}  // namespace

Outcome judge(std::span<const ExitStatus> statuses) {
  Outcome outcome;
  outcome.cause = *std::ranges::min_element(statuses, {}, distance);
  outcome.code = outcome.cause.signal != 0 ? lost_rank : outcome.cause.code;
  outcome.restartable =
      outcome.cause.signal != 0 || outcome.code == unexpected || outcome.code == lost_rank;
  outcome.died = static_cast<int>(std::ranges::count_if(
      statuses, [](const ExitStatus& status) { return status.signal != 0 && !status.forced; }));
  return outcome;
}

Attempt::Attempt(const AttemptSetup& attempt, BlockedSignals& signals) : signals_(signals) {
  // Of this attempt: ranks of an earlier attempt or another run cannot join.
  if (attempt.ranks > 0) ranks_.emplace(attempt.ranks);
  for (int rank = 0; rank < std::max(1, attempt.ranks); ++rank) {
    ChildSetup setup{.words = attempt.words,
                     .variables = attempt.variables,
                     .signal_mask = attempt.handles_signals ? signals_.mask_until_handled()
                                                            : signals_.mask_before(),
                     .cores = attempt.cores};
    if (!attempt.streams.empty()) setup.streams = attempt.streams.at(static_cast<size_t>(rank));
    // Their own process group: a signal of the terminal reaches this process alone, which passes it
    // on.
    if (rank > 0) setup.group = children_.front().pid();
    if (ranks_)
      for (auto& [name, value] : ranks_->variables(rank)) setup.variables.push_back({name, value});
    children_.emplace_back(std::move(setup));
  }
}

AttemptEnd Attempt::wait() {
  for (;;) {
    collect_ended();
    if (end_.statuses.size() == children_.size()) return end_;
    auto number = signals_.wait(deadline_);
    if (!number) {
      end_others();
    } else if (*number != SIGCHLD) {
      pass_on(*number);
    }
  }
}

void Attempt::collect_ended() {
  for (size_t i = 0; i < children_.size(); ++i) {
    auto status = children_[i].try_wait();
    if (!status) continue;
    if (ranks_) status->rank = static_cast<int>(i);
    bool asked = asked_ && end_.stopped_by == 0;
    status->forced = (forced_ && status->signal == SIGKILL) || (asked && status->code == stopped);
    if (end_.statuses.empty()) end_.lived = Clock::now() - begin_;
    if (!status->good() && !deadline_ && !forced_) {
      deadline_ = Clock::now() + time_to_join;
      last_deadline_ = Clock::now() + time_to_end;
    }
    end_.statuses.push_back(*status);
  }
}

void Attempt::pass_on(int number) {
  pid_t group = children_.front().pid();
  if (number == SIGTSTP) {
    kill(-group, SIGSTOP);  // all of them stop while this process is stopped
    suspend_self();
    kill(-group, SIGCONT);
    return;
  }
  end_.stopped_by = number;
  if (number == SIGINT && ++interrupts_ > 1) {
    end_.interrupted_twice = true;
    return kill_all(false);
  }
  kill(-group, number);
}

void Attempt::end_others() {
  if (asked_) return kill_all(true);
  asked_ = true;
  deadline_ = last_deadline_;
  kill(-children_.front().pid(), SIGTERM);
}

void Attempt::kill_all(bool forced) {
  forced_ = forced_ || forced;
  deadline_.reset();
  kill(-children_.front().pid(), SIGKILL);
}

void end_process(const Failure& failure) {
  log_text(failure.table + "\n");
  print_log("error[{}]: {}\n", static_cast<int>(failure.category), failure.text);
  _exit(static_cast<int>(failure.category));
}

std::unique_ptr<World> join_ranks(const Launch& launch, const RunConfig& config) {
  if (launch.size == 1) return nullptr;
  return join_world(launch,
                    {.start_seconds = config.timeouts.start, .on_exit_timeout = end_process});
}

}  // namespace spire

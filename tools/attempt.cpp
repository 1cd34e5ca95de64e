#include "tools/attempt.h"

#include <sys/wait.h>

#include <unistd.h>

#include "engine/process/rendezvous/handshake.h"

namespace spire::tool {

Attempt::Attempt(const std::vector<std::string>& words, const std::vector<Variable>& variables,
                 int ranks, BlockedSignals& signals)
    : signals_(signals) {
  if (ranks == 0) start(words, variables, -1, 0);
  if (ranks > 0) {
    port_.emplace();
    secret_ = random_secret();
  }
  for (int rank = 0; rank < ranks; ++rank) start(words, variables, rank, ranks);
}

void Attempt::start(const std::vector<std::string>& words, std::vector<Variable> variables,
                    int rank, int size) {
  ChildSetup setup{
      .words = words, .variables = std::move(variables), .signal_mask = signals_.mask_before()};
  // A group of their own: what the terminal sends to this process's group reaches them once, by us.
  if (!children_.empty()) setup.group = children_.front().pid();
  if (rank >= 0) {
    std::vector<Variable> of_rank = {{"RANK", std::to_string(rank)},
                                     {"LOCAL_RANK", std::to_string(rank)},
                                     {"WORLD_SIZE", std::to_string(size)},
                                     {"LOCAL_WORLD_SIZE", std::to_string(size)},
                                     {"MASTER_ADDR", "127.0.0.1"},
                                     {"MASTER_PORT", std::to_string(port_->number())},
                                     {"SPIRE_SECRET", secret_}};
    setup.variables.insert(setup.variables.end(), of_rank.begin(), of_rank.end());
  }
  children_.emplace_back(std::move(setup));
}

AttemptEnd Attempt::wait(double grace_seconds) {
  for (;;) {
    take_ends(grace_seconds);
    if (end_.ends.size() == children_.size()) return end_;
    auto number = signals_.wait(deadline_);
    if (!number) {
      kill_all(true);
    } else if (*number != SIGCHLD) {
      pass_on(*number);
    }
  }
}

void Attempt::take_ends(double grace_seconds) {
  for (size_t i = 0; i < children_.size(); ++i) {
    auto status = children_[i].take_end();
    if (!status) continue;
    ChildEnd end{.rank = port_ ? static_cast<int>(i) : -1};
    if (WIFEXITED(*status)) end.code = WEXITSTATUS(*status);
    if (WIFSIGNALED(*status)) end.signal = WTERMSIG(*status);
    end.forced = forced_ && end.signal == SIGKILL;
    if (end_.ends.empty()) end_.lived = Clock::now() - begin_;
    if (!end.good() && !deadline_ && !forced_) {
      deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(grace_seconds));
    }
    end_.ends.push_back(end);
  }
}

void Attempt::pass_on(int number) {
  pid_t group = children_.front().pid();
  if (number == SIGTSTP) {
    kill(-group, SIGSTOP);
    suspend_self();
    kill(-group, SIGCONT);
    return;
  }
  end_.stopped_by = number;
  if (number == SIGINT && ++interrupts_ > 1) {
    end_.at_once = true;
    return kill_all(false);
  }
  kill(-group, number);
}

void Attempt::kill_all(bool forced) {
  forced_ = forced_ || forced;
  deadline_.reset();
  kill(-children_.front().pid(), SIGKILL);
}

void suspend_self() {
  kill(getpid(), SIGSTOP);
}

}  // namespace spire::tool

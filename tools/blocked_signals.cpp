#include "tools/blocked_signals.h"

#include <algorithm>

namespace spire::tool {

namespace {

// Never in the past: an overdue wait still takes a signal that is there.
timespec left_until(BlockedSignals::Deadline deadline) {
  using namespace std::chrono;
  auto left = std::max(nanoseconds(0), nanoseconds(deadline - steady_clock::now()));
  auto whole = duration_cast<seconds>(left);
  return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

}  // namespace

BlockedSignals::BlockedSignals() {
  sigemptyset(&held_);
  for (int number : {SIGINT, SIGTERM, SIGUSR1, SIGTSTP, SIGCHLD}) sigaddset(&held_, number);
  // Whoever started this process may have ignored it, and then the ends of children are lost.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &child_before_);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&held_, SIGHUP);
  sigprocmask(SIG_BLOCK, &held_, &before_);
}

BlockedSignals::~BlockedSignals() {
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> BlockedSignals::wait(std::optional<Deadline> deadline) {
  for (;;) {
    timespec left = deadline ? left_until(*deadline) : timespec{};
    int number = deadline ? sigtimedwait(&held_, nullptr, &left) : sigwaitinfo(&held_, nullptr);
    if (number > 0) return number;
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return {};
  }
}

}  // namespace spire::tool

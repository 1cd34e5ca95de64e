#include "tools/process/signals.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace spire {

namespace {

// A handler receives only the signal number, so its state is static.
// working: begin_work() was called. noted: the note was printed. over: end_work() was called.
std::atomic<bool> stop_requested = false, noted = false, working = false, over = false;
std::atomic<int> interrupts = 0;
std::string_view note;  // changes only while no handler is installed
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr std::string_view nothing_to_save =
    "\nerror[75]: stopped by a signal before there was anything to save; the same command begins "
    "again\n";

// Writes the note once. write() may be called in a signal handler, streams may not.
void print_once(std::string_view text) {
  if (noted.exchange(true)) return;
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

extern "C" void on_stop_signal(int signal) {
  if (over) return;
  int saved_errno = errno;  // write() below may change it under the interrupted code
  // Nothing can be lost yet, and reading data or waiting for other ranks looks at no flag.
  if (!working) {
    print_once(nothing_to_save);
    _exit(75);
  }
  if (signal == SIGINT && interrupts.fetch_add(1) > 0) _exit(130);
  stop_requested = true;
  print_once(note);
  errno = saved_errno;
}

// Time until the deadline, at least 0: a wait that is overdue still takes a pending signal.
timespec time_until(BlockedSignals::Deadline deadline) {
  using namespace std::chrono;
  auto left = std::max(nanoseconds(0), nanoseconds(deadline - steady_clock::now()));
  auto whole = duration_cast<seconds>(left);
  return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

}  // namespace

StopSignals::StopSignals(std::string_view text) {
  stop_requested = working = over = false;
  noted = text.empty();
  note = text;
  interrupts = 0;
  for (size_t i = 0; i < stop_signals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(stop_signals[i], nullptr, &before_[i]);
    if (stop_signals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    sigaction(stop_signals[i], &action, nullptr);
  }
  sigset_t waiting;
  sigemptyset(&waiting);
  for (int number : stop_signals) sigaddset(&waiting, number);
  sigprocmask(SIG_UNBLOCK, &waiting, nullptr);
}

StopSignals::~StopSignals() {
  if (over) return;
  for (size_t i = 0; i < stop_signals.size(); ++i) sigaction(stop_signals[i], &before_[i], nullptr);
}

void StopSignals::begin_work() {
  working = true;
}

void StopSignals::end_work() {
  over = true;
}

const std::atomic<bool>* StopSignals::flag() const {
  return &stop_requested;
}

BlockedSignals::BlockedSignals() {
  sigemptyset(&blocked_);
  for (int number : stop_signals) sigaddset(&blocked_, number);
  for (int number : {SIGTSTP, SIGCHLD}) sigaddset(&blocked_, number);
  // The parent may have set SIGCHLD to SIG_IGN, and then waitpid() reports no child.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, &child_before_);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler == SIG_IGN) sigdelset(&blocked_, SIGHUP);
  sigprocmask(SIG_BLOCK, &blocked_, &before_);
}

BlockedSignals::~BlockedSignals() {
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

sigset_t BlockedSignals::mask_until_handled() const {
  sigset_t mask = before_;
  for (int number : stop_signals) sigaddset(&mask, number);
  return mask;
}

std::optional<int> BlockedSignals::wait(std::optional<Deadline> deadline) {
  // Both calls may return early (EINTR); the deadline decides.
  for (;;) {
    timespec left = deadline ? time_until(*deadline) : timespec{};
    int number =
        deadline ? sigtimedwait(&blocked_, nullptr, &left) : sigwaitinfo(&blocked_, nullptr);
    if (number > 0) return number;
    if (deadline && std::chrono::steady_clock::now() >= *deadline) return {};
  }
}

bool BlockedSignals::stopped_before(Deadline deadline) {
  while (auto number = wait(deadline)) {
    if (*number == SIGTSTP) suspend_self();
    if (*number != SIGTSTP && *number != SIGCHLD) return true;
  }
  return false;
}

void suspend_self() {
  kill(getpid(), SIGSTOP);
}

}  // namespace spire

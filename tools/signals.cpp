#include "tools/signals.h"

#include <cerrno>
#include <string_view>

#include <unistd.h>

namespace spire::tool {

namespace {

// A handler is given nothing but a number, so what it sets must be static.
std::atomic<bool> stop_requested = false, told = false, working = false;
std::atomic<int> interrupts = 0;
std::string_view note;  // set while no handler is
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

constexpr std::string_view nothing_to_save =
    "\nerror[75]: stopped by a signal before there was anything to save; the same command begins "
    "again\n";

void tell(std::string_view text) {
  if (told.exchange(true)) return;
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

extern "C" void on_stop_signal(int signal) {
  int saved_errno = errno;
  if (!working) {
    tell(nothing_to_save);
    _exit(75);
  }
  if (signal == SIGINT && interrupts.fetch_add(1) > 0) _exit(130);
  stop_requested = true;
  tell(note);
  errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals(std::string_view text) {
  stop_requested = working = false;
  told = text.empty();
  note = text;
  interrupts = 0;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
    sigaction(kSignals[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

void StopSignals::begin_work() {
  working = true;
}

const std::atomic<bool>* StopSignals::flag() const {
  return &stop_requested;
}

}  // namespace spire::tool

#include "signals.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace spire::tool {

namespace {

// A handler is given nothing but a number, so what it sets must be static.
std::atomic<bool> stop_requested = false, told = false;
std::atomic<int> interrupts = 0;
std::string_view note;  // set while no handler is
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

extern "C" void on_stop_signal(int signal) {
  int saved_errno = errno;
  if (signal == SIGINT && interrupts.fetch_add(1) > 0) _exit(130);
  stop_requested = true;
  if (!told.exchange(true)) {
    [[maybe_unused]] ssize_t written = write(STDERR_FILENO, note.data(), note.size());
  }
  errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals(std::string_view text) {
  stop_requested = false;
  told = text.empty();
  note = text;
  interrupts = 0;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : on_stop_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, &before_[i]);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

const std::atomic<bool>* StopSignals::flag() const {
  return &stop_requested;
}

}  // namespace spire::tool

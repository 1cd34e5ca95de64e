// SIGINT, SIGTERM and SIGUSR1 ask a run to save a checkpoint and stop. Only the program installs
// handlers; the library reads a flag.
#pragma once
#include <csignal>

#include <array>
#include <atomic>

namespace spire::tool {

// While one lives: the first signal sets the flag, a second SIGINT ends the process at once (130),
// and writing to a closed pipe is no signal but an error. At most one at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>* flag() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace spire::tool

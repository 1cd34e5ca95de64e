// SIGINT, SIGTERM and SIGUSR1 ask the program to stop, a run to save a checkpoint first. Only the
// program installs handlers; the library reads a flag.
#pragma once
#include <csignal>

#include <array>
#include <atomic>
#include <string_view>

namespace spire::tool {

// While one lives: the first signal sets the flag, a second SIGINT ends the process at once (130),
// and writing to a closed pipe is no signal but an error. At most one at a time. The first
// signal is answered with `note` on stderr, which must outlive the object; empty: with nothing.
class StopSignals {
 public:
  static constexpr std::string_view saving =
      "\nstopping: saving a checkpoint first; press Ctrl+C again to end at once\n";
  static constexpr std::string_view ending = "\nstopping; press Ctrl+C again to end at once\n";

  explicit StopSignals(std::string_view note);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>* flag() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace spire::tool

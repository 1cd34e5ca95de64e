// SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask the program to stop, a run to save a checkpoint first.
// Only the program installs handlers; the library reads a flag.
#pragma once
#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

namespace spire::tool {

// While one lives. Before begin_work() there is nothing to save, and what the process is at may
// take long and look at no flag (reading data, waiting for other ranks): a signal ends the process
// at once, with code 75 and a line on stderr. From then on the first signal sets the flag, and a
// second SIGINT ends the process at once (130). A SIGHUP that whoever started the program ignores
// (nohup) stays ignored. At most one at a time. The first signal is answered with `note` on stderr,
// which must outlive the object; empty: with nothing, in both cases.
class StopSignals {
 public:
  static constexpr std::string_view saving =
      "\nstopping: saving a checkpoint first; press Ctrl+C again to end at once\n";
  static constexpr std::string_view ending = "\nstopping; press Ctrl+C again to end at once\n";

  explicit StopSignals(std::string_view note);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Any thread; more calls than one change nothing.
  void begin_work();
  const std::atomic<bool>* flag() const;

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace spire::tool

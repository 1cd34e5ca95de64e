// The runs of a sweep: starts one on each free slot, until all have ended or a signal stops them.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "tools/process/child_process.h"
#include "tools/process/signals.h"
#include "tools/sweep/folder.h"
#include "tools/sweep/results.h"

namespace spire {

class SweepRuns {
 public:
  enum class End : uint8_t { all, stopped, killed };  // killed: at once, by a second Ctrl+C

  struct Options {
    std::optional<int64_t> max_restarts = {};  // of each run
    std::function<void(const std::string&)> log = {};
    std::function<void()> on_result = {};  // the report has one more result
  };

  // Reads into `report` the results of runs that an earlier `trainer sweep` completed, from their
  // folders. All arguments but `options` must outlive this object. Each run is a child process,
  // which dies with this one.
  SweepRuns(SweepReport& report, const std::vector<SweepSlot>& slots, const SweepFolder& folder,
            BlockedSignals& signals, Options options);

  End run();

 private:
  struct Job {
    size_t point;
    size_t slot;
    ChildProcess process;
  };

  void start_waiting();
  void start(size_t point, size_t slot);
  void collect_ended();
  void take_result(size_t point, const ExitStatus& status);
  void pass_on(int signal);
  void signal_all(int signal) const;
  std::string done_text() const;

  SweepReport& report_;
  const std::vector<SweepSlot>& slots_;
  const SweepFolder& folder_;
  BlockedSignals& signals_;
  const Options options_;
  std::list<Job> jobs_;
  size_t next_ = 0;  // point that is looked at next
  int interrupts_ = 0;
  End end_ = End::all;
};

}  // namespace spire

// The runs of a sweep: starts one on each free slot, until all have ended or a signal stops them;
// and the folder that they use.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "tools/process/child_process.h"
#include "tools/process/descriptor.h"
#include "tools/process/signals.h"
#include "tools/sweep/results.h"

namespace spire {

// The folder of a sweep, which one sweep uses at a time:
//   sweep.json, sweep.csv     the plan and the results so far; sweep.html shows them
//   02-lr=0.05/               a run's output folder
//   02-lr=0.05.log            what the run printed
//   .spire_sweep              the lock: "host, process 123, since 2026-11-22T18:00:00Z"

// Returns what the folder's sweep.json says; none if it has none yet. Throws Error(config).
std::optional<RecordedSweep> read_recorded_sweep(const std::filesystem::path& folder);

class SweepFolder {
 public:
  // Makes the folder if needed and locks it. The processes that this one starts hold the lock, too:
  // after a kill it lasts until the last of them has ended, for which this waits some seconds.
  // Throws Error(config) if another sweep uses the folder, or if it holds files of something else;
  // Error(interrupted) on a signal.
  SweepFolder(std::filesystem::path path, BlockedSignals& signals);

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path run(const SweepPoint& point) const { return path_ / point.name; }
  std::filesystem::path log(const SweepPoint& point) const { return path_ / (point.name + ".log"); }

  // Writes sweep.json, sweep.csv and sweep.html, each whole or not at all. Throws Error(config).
  void write(const SweepReport& report) const;

 private:
  void lock(BlockedSignals& signals);
  void refuse_other_files() const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::filesystem::path path_;
  Descriptor lock_;  // which child processes inherit
};

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

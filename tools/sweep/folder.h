// The folder of a sweep, which one sweep uses at a time:
//   sweep.json, sweep.csv     the plan and the results so far; sweep.html shows them
//   02-lr=0.05/               a run's output folder
//   02-lr=0.05.log            what the run printed
//   .spire_sweep              the lock: "host, process 123, since 2026-11-22T18:00:00Z"
#pragma once
#include <filesystem>
#include <optional>
#include <string>

#include "tools/process/descriptor.h"
#include "tools/process/signals.h"
#include "tools/sweep/results.h"

namespace spire {

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

}  // namespace spire

// The processes of a benchmark's runs: each run starts this program anew, so that its memory and
// its first step are those of a training run.
#pragma once
#include <vector>

#include "tools/bench/bench.h"
#include "tools/process/signals.h"

namespace spire {

class WorkerProcesses {
 public:
  // Starts `trainer bench-worker` in the run's processes, on its cores or GPUs, and waits for their
  // end. Throws Error(interrupted) on a signal, which ends them; else, where one fails, the error
  // that it has reported, with its category.
  std::vector<ProcessOutput> run(const BenchRun& run);

 private:
  BlockedSignals signals_;  // a signal between two runs ends the next one
};

}  // namespace spire

// Times variants in processes of their own: each run starts this program anew, so that its memory
// and its first step are those of a training run.
#pragma once
#include <optional>

#include "tools/bench/runs/variants.h"
#include "tools/process/signals.h"

namespace spire {

class WorkerRuns {
 public:
  WorkerRuns(const RunConfig& config, const BenchDevices& devices)
      : config_(config), devices_(devices) {}

  // Starts `trainer bench-worker` in the variant's processes, on its cores or GPUs, and waits for
  // their end. Throws Error(interrupted) on a signal, which ends them; else, where one fails, the
  // error that it has reported, with its category.
  Measurement run(const Variant& variant, int64_t steps, int64_t warmup);

 private:
  const RunConfig& config_;
  const BenchDevices& devices_;
  // From the first run on: before, signals end this process. One between two runs ends the next.
  std::optional<BlockedSignals> signals_;
};

}  // namespace spire

// The processes of a benchmark's runs: each run starts this program anew, so that its memory and
// its first step are those of a training run.
#pragma once
#include <spire/run_config.h>

#include "engine/bench/report/bench_report.h"
#include "engine/bench/runs/variants.h"
#include "tools/process/signals.h"

namespace spire::tool {

class WorkerProcesses {
 public:
  // config: of the benchmark, see config_of(). Both outlive this.
  WorkerProcesses(const RunConfig& config, const BenchDevices& devices)
      : config_(config), devices_(devices) {}

  // Starts `trainer bench-worker` in the variant's processes, on its cores or GPUs, and waits for
  // their end. Throws Error(interrupted) on a signal, which ends them; else, where one fails, the
  // error that it has reported, with its category.
  Measurement run(const Variant& variant, int64_t steps, int64_t warmup);

 private:
  const RunConfig& config_;
  const BenchDevices& devices_;
  BlockedSignals signals_;  // a signal between two runs ends the next one
};

}  // namespace spire::tool

// The rounds of a benchmark: every variant once a round, in rotating order, so that what else the
// machine does falls on all variants alike.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/bench/runs/variants.h"
#include "tools/process/signals.h"

namespace spire {

struct RoundOptions {
  int64_t rounds = 3;
  std::optional<int64_t> steps = {};  // timed steps; none: as many as take `seconds`
  int64_t warmup = 3;                 // steps before them
  double seconds = 5;
};

// Runs warmup + steps steps of a variant in processes of its own. Throws Error(interrupted) if the
// user stops the benchmark, an Error of another category if the variant fails.
using RunVariant = std::function<Measurement(const Variant&, int64_t steps, int64_t warmup)>;
using LogLine = std::function<void(const std::string&)>;  // gets one line

// Runs the rounds of the variants that report.points names, and adds each measurement to its point.
// Sets report.steps and report.warmup. A variant that fails gets its error in its point and is not
// run again. Without options.steps a short trial of the variant with the fewest towers per device
// sets the number of steps; all variants take that number, so that their parameter hashes compare.
// Returns false if the user stopped it: report.points then has only the points with a round or an
// error. on_round: called after each measurement that was added.
bool run_rounds(
    BenchReport& report, const RoundOptions& options, const RunVariant& run, const LogLine& log,
    const std::function<void()>& on_round = [] {});

// Times variants in processes of their own: each run starts this program anew, so that its memory
// and its first step are those of a training run.
class WorkerRuns {
 public:
  WorkerRuns(const RunConfig& config, const BenchDevices& devices)
      : config_(config), devices_(devices) {}

  // Starts `trainer bench-worker` in the variant's processes, on its cores or GPUs, and waits for
  // their end. Throws Error(interrupted) on a signal, after the processes have ended. If a process
  // fails, throws the error that it has reported, with its category.
  Measurement run(const Variant& variant, int64_t steps, int64_t warmup);

 private:
  const RunConfig& config_;
  const BenchDevices& devices_;
  // Set from the first run on; before that, signals end this process. A signal between two runs
  // ends the next run.
  std::optional<BlockedSignals> signals_;
};

}  // namespace spire

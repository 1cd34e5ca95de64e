// Trains and evaluates a run, from its config to its summary. The program `trainer` and programs
// that embed Spire call the same functions. None of them exits the process, installs a signal
// handler or writes the environment.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include <spire/failure.h>
#include <spire/observer.h>
#include <spire/phase.h>
#include <spire/plan_report.h>
#include <spire/run_config.h>
#include <spire/world.h>

namespace spire {

inline namespace checkpoint {
struct LoadedCheckpoint;
}  // namespace checkpoint

struct RunOptions {
  bool overwrite = false;  // delete what an earlier run left in the output directory
  // The checkpoint to resume from: "auto" (the newest intact one; without any, a new run),
  // "latest", "best", a run's directory or a checkpoint file.
  std::optional<std::string> resume;
  const LoadedCheckpoint* checkpoint = nullptr;  // for evaluate(): it has been read already
  // Keys without a given value: a resumed run takes seed and batch_size from its checkpoint where
  // they are in this set.
  std::set<std::string> left_out;
  bool evaluates = false;  // set by evaluate(): another seed or batch size is no error
  // > 0: a trial run of so many steps, with evaluations of so many batches; nothing is written.
  int64_t dry_run = 0;
  // Set it to true to stop the run: it saves a checkpoint at the next step and returns.
  const std::atomic<bool>* stop = nullptr;
  // Called on each rank when data is read and memory allocated, before anything in the output
  // directory changes. `stop` has no effect earlier.
  std::function<void()> on_begin;
  std::string config_yaml;  // text of the run directory's config.yaml; empty: made from the config
  // The processes of the run; null: this one alone. All call train() with the same config; rank 0
  // alone writes files and calls its observer.
  World* world = nullptr;
  // Without a world: called on another thread when a device thread hangs beyond timeouts.step.
  // train() never returns then; `trainer` prints the failure and ends the process.
  std::function<void(const Failure&)> on_exit_timeout;
  PhaseHook on_phase;  // called by every thread of the run
};

struct RunResult {
  int exit_code = 0;  // 0, or Category::interrupted when `stop` ended it with a checkpoint saved
  RunSummary summary;
};

// Trains as the config says. Blocks until the end; the observer is called on one thread of the
// engine. Throws Error: config, device, data, checkpoint, out_of_memory, diverged; collective when
// a device thread failed unexpectedly, a GPU was lost, or another rank failed, was lost or stalled.
// A collective error is thrown on all ranks and names the rank, device and phase where it began.
RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer);

struct EvalResult {
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
  std::string checkpoint;
};

// Measures a checkpoint on the test data: options.checkpoint, or the one that options.resume names.
// Without both it is the best checkpoint of the run in the output directory, else its newest.
// Throws as train() does.
EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer);

}  // namespace spire

// The engine's front door: a run from config to summary. What `trainer` calls, and what a program
// that embeds Spire calls. Nothing here exits, installs a signal handler or writes the environment.
#pragma once
#include <atomic>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <spire/observer.h>
#include <spire/run_config.h>
#include <spire/world.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/graph/layer_table.h"

namespace spire {

struct RunOptions {
  bool overwrite = false;  // delete what an earlier run left in the output directory
  // The checkpoint to go on from, as NamedCheckpoint reads it: "auto" (the newest good one, or a
  // new run), "latest", "best", a run's directory or a file.
  std::optional<std::string> resume;
  const LoadedCheckpoint* checkpoint = nullptr;  // of evaluate(): already read
  // Keys that nobody gave a value: a resumed run takes the seed and the batch_size of its
  // checkpoint for these.
  std::set<std::string> left_out;
  bool evaluates = false;  // set by evaluate(): another seed or batch size is no fault
  int64_t dry_run = 0;     // > 0: so many steps, evaluations of so many batches, nothing written
  const std::atomic<bool>* stop = nullptr;  // set: save a checkpoint and return, at the next step
  // Called on each rank when all that may take long before the first step is done, data read and
  // memory taken, and before anything in the output directory changes. Until then `stop` is not
  // looked at.
  std::function<void()> on_begin;
  std::string config_yaml;  // for the run directory; empty: made from the config
  // The processes of the run, all of which call train() with the same config; null: this one alone.
  // Rank 0 alone writes files and calls its observer.
  World* world = nullptr;
  // Without a world: called on another thread when a device thread hangs beyond timeouts.step and
  // train() will never return (Watchdog::Options::on_exit_timeout). `trainer` prints and ends the
  // process.
  std::function<void(const Failure&)> on_exit_timeout;
  ThreadStatus::Hook on_phase;  // called by every thread of the run as it enters a phase
};

struct RunResult {
  int exit_code = 0;  // 0, or Category::interrupted when `stop` ended it with a checkpoint saved
  RunSummary summary;
};

// Trains as the config says. Blocks until the end; the observer is called on one thread of the
// engine. Throws Error: config, device, data, checkpoint, out_of_memory, diverged; collective when
// a device thread failed unexpectedly, a GPU was lost, or another rank did, was lost or stalled:
// then on all ranks, naming the rank, device and phase where it began.
RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer);

struct EvalResult {
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
  std::string checkpoint;
};

// Metrics of a checkpoint on the test data: options.checkpoint, or what options.resume names;
// without both, the best of the run in the output directory, else its newest.
EvalResult evaluate(const RunConfig& config, const RunOptions& options, Observer& observer);

// What a run would allocate on each device, and what its model is made of.
struct PlanReport {
  StartInfo start;
  std::vector<LayerRow> layers;  // of a tower's step: start.batch_size samples
  // What of it does not fit a device or memory.limit, as train() would say it; empty: nothing, as
  // far as one can tell.
  std::string shortage;
  std::vector<std::string> warnings;  // of the data and the config, as train() gives them
};
PlanReport plan(const RunConfig& config);
// The table of layers, its multiply-adds a sample, then the start block.
std::string to_text(const PlanReport& report);

// Config, data, devices and their memory, without training: throws what train() would throw before
// its first step. What the run would do is in the report's start.
PlanReport check(const RunConfig& config);

}  // namespace spire

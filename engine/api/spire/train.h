// Trains a run, from its config to its summary, and evaluates checkpoints. The program `trainer`
// and programs that embed Spire call the same functions. None of them exits the process, installs a
// signal handler or changes the environment.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include <spire/dataset.h>
#include <spire/export.h>
#include <spire/model.h>
#include <spire/observer.h>
#include <spire/plan.h>
#include <spire/run_config.h>
#include <spire/world.h>

namespace spire {

struct LoadedCheckpoint;

// Asks for a file with what every device did in some steps, in the Trace Event Format
// (ui.perfetto.dev).
struct TimelineOptions {
  std::string path;
  int64_t first = 0, last = 0;  // steps, counted from 1; 0: three steps, after ten others
};

struct RunOptions {
  bool overwrite = false;  // delete what an earlier run left in the output directory
  // The checkpoint to resume from: "auto" (the newest intact one, or a new run if there is none),
  // "latest", "best", a run's directory or a checkpoint file.
  std::optional<std::string> resume = {};
  // For evaluate(): Checkpoint::loaded() of a checkpoint that outlives the call; null: `resume`
  // names it.
  const LoadedCheckpoint* checkpoint = nullptr;
  // Config keys that the user did not set, see spire::defaulted_keys(). A resumed run takes "seed"
  // and "batch_size" from its checkpoint if they are among them. With precision: exact the global
  // batch is always the checkpoint's; a batch_size in the config that differs only gives a warning.
  std::set<std::string> defaulted_keys = {};
  // The program's own data, opened once on each rank; empty: the config names the data.
  DataSource data = {};
  // The program's own model; empty: the config names the model.
  std::shared_ptr<const Model> model = {};
  bool on_validation = false;  // evaluate(): on the validation data (data.val), not the test data
  // evaluate(): if no file is named as test data, evaluate all samples, not the held-out share. For
  // data on which the run was not trained.
  bool all_test = false;
  bool evaluates = false;  // internal: evaluate() lets settings differ from the checkpoint's
  // > 0: a trial run of this many steps, with evaluations of this many batches. It writes no files.
  int64_t dry_run = 0;
  // With dry_run, for timing: runs steps only, without evaluations. Every rank calls its own
  // observer, not only rank 0.
  bool only_steps = false;
  // Set *stop to true, on any thread, to end the call: train() saves a checkpoint after the current
  // step and returns, evaluate() throws Error(interrupted). null: nothing ends it.
  const std::atomic<bool>* stop = nullptr;
  // When max_time begins to count, for example the start of the process; nullopt: the call.
  std::optional<std::chrono::steady_clock::time_point> started = {};
  // Called once on each rank when the data is open and memory is allocated, before any file of an
  // earlier run changes. `stop` has no effect before that.
  std::function<void()> on_begin = {};
  std::string config_yaml = {};  // what to write as config.yaml; empty: `config` as YAML
  // The processes of the run; null: a single process. All of them call train() with the same
  // config; only rank 0 writes files and calls its observer.
  World* world = nullptr;
  // Called on another thread if train() cannot return after a failure because a thread hangs;
  // `trainer` then ends the process. Used only without `world`: JoinOptions has its own.
  std::function<void(const Failure&)> on_exit_timeout = {};
  std::optional<TimelineOptions> timeline =
      {};                   // must be equal on all ranks; rank 0 writes the file
  PhaseHook on_phase = {};  // called by every thread of the run at each new phase
};

struct RunResult {
  // 0, or Category::interrupted if `stop` or max_time ended it and a checkpoint is saved
  int exit_code = 0;
  RunSummary summary;
};

// Trains as the config says and returns at the end of the run; the observer is called on one thread
// of the engine. Throws Error: config, device, data, checkpoint, out_of_memory, diverged;
// collective if a device thread failed unexpectedly, a GPU was lost, or a rank failed, was lost or
// stalled. All ranks throw a collective error; it names the rank, device and phase where it began.
SPIRE_API RunResult train(const RunConfig& config, const RunOptions& options, Observer& observer);
// The same, without an observer.
SPIRE_API RunResult train(const RunConfig& config, const RunOptions& options = {});

struct EvalResult {
  double loss = 0;
  MetricValue metric;
  int64_t samples = 0;
  std::string checkpoint;                // path
  std::vector<MetricValue> others = {};  // eval.metrics
};

// Evaluates a checkpoint on the test data, or with options.on_validation on the validation data.
// The checkpoint is options.checkpoint, else the one that options.resume names, else the best of
// config.output, or its newest if there is no best one. Runs in this process alone: options.world
// is ignored. The observer gets notes and warnings; the result is returned.
// Throws what train() throws.
SPIRE_API EvalResult evaluate(const RunConfig& config, const RunOptions& options,
                              Observer& observer);

}  // namespace spire

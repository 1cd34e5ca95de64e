// Prepares a run: its final config, the checkpoint that it resumes, its placement and its data.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/device/gpu_claims.h"
#include "engine/device/topology.h"
#include "engine/run/batch_choice.h"
#include "engine/run/guard.h"
#include "engine/run/initial/open_teacher.h"
#include "engine/run/metrics/evaluation_metrics.h"
#include "engine/train/placement/place_run.h"
#include "engine/train/run_tuning.h"
#include "engine/train/tower_trainer.h"

namespace spire {

// All ranks must have the same config. Throws Error(config) on all of them for the first key that
// differs, and names it; collective.
void compare_configs(const RunConfig& config, const RankGroup& ranks);

class RunSetup {
 public:
  // Checks the config, finds the checkpoint to resume, places towers and opens the data;
  // collective. status: outlives this; row 0 shows when exchanges wait. Throws as train().
  RunSetup(const RunConfig& config, const RunOptions& options, Observer& observer,
           ThreadStatus* status = nullptr);

  RunConfig config;  // final: has the run's towers, batch_size and tower_threads
  RankGroup ranks;
  std::optional<LoadedCheckpoint> resumed;  // only rank 0 has its tensors
  bool resumed_here = false;                // whether that is in the run's own output directory
  Placement placement;
  std::string cores;                       // text about the use of cores
  std::shared_ptr<const Model> own_model;  // RunOptions::model
  bool own_data;                           // whether the data is RunOptions::data
  bool records_batch;      // config.yaml gets the batch that the run uses, not the given one
  std::string batch_note;  // what auto chose, and why; empty where a checkpoint decided
  DatasetPair data;
  OpenTeacher teacher;             // of config.distill; none for an evaluation
  bool model_chosen = false;       // model.name was auto, so the data decided
  bool saves;                      // whether the run writes checkpoints: false in a dry run
  std::unique_ptr<Tuning> tuning;  // null: no tuning (cuda.autotune: false)
  LibraryVersions versions;        // versions of GPU libraries, for checkpoints
  std::function<void(const ThreadStatus*)> watch_lanes = {};  // TowerTrainerOptions::watch_lanes

  // If batch_size was auto, in a run of one process: tries a step and an evaluation, whose results
  // are thrown away, and halves the batch while these run out of memory, until RunOptions::stop.
  // Throws Error(out_of_memory) if the smallest one does; the run meets other errors itself. With
  // several processes the plan alone decides.
  void try_batch(Observer& observer);

  // Pins the lanes if config.pin says so, while this lives; collective, before the trainer is made.
  void take_cores();

  TowerTrainerOptions trainer_options() const;
  // Sets config, seed, data, tuning, versions, the guard's state, and what follows from state.step.
  // REQUIRES: TowerTrainer::describe() has been called for `state`, and state.step is set.
  void describe(StateMetadata& state, const Guard& guard) const;
  void keep_tuning(Observer& observer) const;  // stores engine choices for later runs

  const RankHardware& hardware() const { return own_place_; }  // that this process may use
  Task task() const;
  Metric metric() const;  // the task's
  const MetricChoice& metrics() const { return metrics_; }
  EvaluationMetrics evaluation_metrics(const Dataset& evaluated) const;
  double learning_rate() const;  // after scaling with the global batch
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;  // number of steps of the whole run
  void check_placed() const;    // throws Error(config) for keys that contradict learning_rate()

 private:
  std::unique_ptr<OutputRecords> output_records() const;
  void choose_metrics();
  void place(const RunOptions& options, Observer& observer, ThreadStatus* status);
  void check_exact_decisions() const;
  void check_exact_columns() const;
  void settle_placed();
  RunConfig with_any_batch() const;
  void choose_batch();
  double free_share() const;  // of the free memory, that this process's plans may use
  std::string shortage_of(const BatchShape& shape);
  void take_shape(const BatchShape& shape);
  void settle_shape();

  MetricChoice metrics_;
  std::vector<RankHardware> places_;  // of all ranks
  std::optional<int64_t> asked_threads_;
  std::vector<BatchShape> shapes_;  // from which the batch was chosen; empty: it was not
  size_t shape_ = 0;                // the chosen one
  RankHardware own_place_;
  CoreLocks core_locks_;
  GpuClaims gpu_claims_;
  const std::atomic<bool>* stop_;  // RunOptions::stop
};

}  // namespace spire

// Prepares a run: its final config, the checkpoint that it resumes, its placement and its data.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/device/gpu_claims.h"
#include "engine/device/topology.h"
#include "engine/run/run_placement.h"
#include "engine/train/run_tuning.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

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
  std::string cores;  // text about the use of cores
  DatasetPair data;
  bool model_chosen = false;       // model.name was auto, so the data decided
  bool saves;                      // whether the run writes checkpoints: false in a dry run
  std::unique_ptr<Tuning> tuning;  // null: no tuning (cuda.autotune: false)
  LibraryVersions versions;        // versions of GPU libraries, for checkpoints

  // Pins the lanes if config.pin says so, while this lives; collective, before the trainer is made.
  void take_cores();

  TrainerOptions trainer_options() const;
  void keep_tuning(Observer& observer) const;  // stores engine choices for later runs

  const RankHardware& hardware() const { return own_place_; }  // that this process may use
  CheckpointStore store() const;
  Task task() const;
  Metric metric() const;         // the metric by which the best checkpoint is chosen
  double learning_rate() const;  // after scaling with the global batch
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;  // number of steps of the whole run

 private:
  void place(const RunOptions& options, Observer& observer);
  void check_placed() const;

  RankHardware own_place_;
  CoreLocks core_locks_;
  GpuClaims gpu_claims_;
};

}  // namespace spire::inline run

// A run before its first step: its settled config, data, placement and the checkpoint it resumes.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/device/topology.h"
#include "engine/run/run_placement.h"
#include "engine/train/run_tuning.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

class RunSetup {
 public:
  // Checks the config, finds the checkpoint to resume, places the towers and opens the data, in
  // this order; collective. status: its row 0 is in phase waiting during exchanges; outlives this.
  // Throws like train().
  RunSetup(const RunConfig& config, const RunOptions& options, Observer& observer,
           ThreadStatus* status = nullptr);

  RunConfig config;  // settled: towers, batch_size and tower_threads as the run has them
  RankGroup ranks;
  std::optional<LoadedCheckpoint> resumed;  // its tensors on rank 0 only
  bool resumed_here = false;                // from the output directory itself
  Placement placement;
  std::string cores;  // their use in words
  DatasetPair data;
  bool model_chosen = false;       // by the data: model.name was auto
  bool saves;                      // checkpoints: this is no dry run
  std::unique_ptr<Tuning> tuning;  // the trainer's; null: none
  LibraryVersions versions;        // that checkpoints record

  // Pins the lanes, if config.pin asks for it, for the life of this; collective, before the
  // trainer.
  void take_cores();

  TrainerOptions trainer_options() const;
  void keep_tuning(Observer& observer) const;  // the trainer's measurements, for later runs

  CheckpointStore store() const;
  Task task() const;
  Metric metric() const;         // that ranks models on this data
  double learning_rate() const;  // scaled with the global batch
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;  // of the whole run

 private:
  void place();
  void check_placed() const;

  RankHardware own_place_;
  CoreLocks core_locks_;
};

}  // namespace spire::inline run

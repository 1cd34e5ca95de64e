// What a run stands on before its first step: data, devices, the state it resumes from.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>

#include <spire/observer.h>
#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/data/loader.h"
#include "engine/device/topology.h"
#include "engine/train/library_versions.h"
#include "engine/train/run_tuning.h"
#include "engine/train/trainer.h"

namespace spire::inline run {

class RunSetup {
 public:
  // Reads the dataset, finds the checkpoint to resume and places the towers. The observer hears of
  // damaged checkpoints that were passed over. Every rank of the world makes one; rank 0 looks for
  // the checkpoint. board: whose row 0 waits while this does; outlives it. Throws like train().
  RunSetup(const RunConfig& config, const RunOptions& options, Observer& observer,
           ThreadStatus* board = nullptr);

  RunConfig config;  // settled: towers and batch_size as the run has them
  DatasetPair data;
  Placement placement;
  std::optional<LoadedCheckpoint> resumed;  // its tensors on rank 0 only
  std::unique_ptr<Tuning> tuning;           // the trainer's; null: none
  LibraryVersions versions;                 // what checkpoints record

  // Pins the lanes, where config.pin has it so, for as long as this lives. On all ranks together,
  // before the trainer is made.
  void take_cores();

  CheckpointStore store() const;
  // Streams of the run's devices copy from both, so a trainer that reads them ends before they do.
  // held: of LoaderOptions; evaluation has one batch in use.
  std::unique_ptr<BatchLoader> train_loader(int64_t held) const;
  std::unique_ptr<BatchLoader> test_loader() const;
  TrainerOptions trainer_options() const;
  StartInfo start_info(const Trainer& trainer, int64_t total_steps) const;

  // Whether the resumed checkpoint is the output directory's own: then the run goes on there.
  bool resumed_here() const { return resumed_here_; }
  ProcessGroup* group() const { return world_ ? world_->group.get() : nullptr; }
  // After the trainer is made: what it has measured is kept for later runs.
  void keep_tuning(Observer& observer) const;
  // Warns of keys that the run of the resumed checkpoint had with other values, and of libraries
  // that it had in other versions.
  void tell_changes(Observer& observer) const;

  Task task() const;
  Metric metric() const;         // what the model is judged by on this data
  double learning_rate() const;  // scaled with the global batch
  int64_t steps_per_epoch() const;
  int64_t total_steps() const;  // of the whole run

 private:
  LoaderOptions loading() const;
  MixOptions mixing() const;
  std::vector<Column> train_columns() const;  // as batches bring them
  bool rank_zero() const { return !world_ || world_->rank() == 0; }
  void wait(const std::function<void()>& wait) const;
  void compare_configs() const;
  void tell_changed_config(Observer& observer) const;
  void find_checkpoint(const RunOptions& options, Observer& observer);
  void share_checkpoint();
  void keep_meaning(const RunOptions& options);
  void settle_model(Observer& observer);
  void tell_notes(Observer& observer);
  void keep_data_meaning();
  std::vector<RankPlace> gather_places(const RankPlace& own) const;
  void place();
  void tell_doubts(Observer& observer) const;  // about the libraries of GPUs

  World* world_;
  ThreadStatus* board_;
  bool saves_;  // checkpoints
  bool resumed_here_ = false;
  bool model_chosen_ = false;  // by the data: model.name is auto
  RankPlace place_;            // this process's
  CoreLocks core_locks_;
  std::string cores_text_;
};

}  // namespace spire::inline run

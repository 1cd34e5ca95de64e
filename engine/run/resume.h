// Finds the checkpoint that a run resumes, and checks that it fits the run's config and data.
#pragma once
#include <memory>
#include <optional>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/train/placement/place_run.h"

namespace spire {

struct ResumePoint {
  // nullopt: a new run starts. Only rank 0 has the checkpoint's tensors.
  std::optional<LoadedCheckpoint> checkpoint;
  bool in_output = false;  // it is in the run's own output directory, where the run then continues
};

// Finds the checkpoint; collective. Warns of damaged checkpoints. Throws as load_named() does,
// and Error(config) if --overwrite would delete the run that is to be resumed.
ResumePoint find_resume_point(const RunConfig& config, const RunOptions& options,
                              const RankGroup& ranks, Observer& observer);

// Returns the config of the run that saved this; nullopt if it has keys that this version lacks.
std::optional<RunConfig> recorded_config(const StateMetadata& state);

// Removes the best evaluation and the state of early stopping from the checkpoint's metadata, with
// a warning, if its config and `config` differ in what decides them (best.*, data.val.*). auto
// equals the value that it stands for. task_metric: of the run's task.
void forget_best_of_others(RunConfig config, Metric task_metric, LoadedCheckpoint& checkpoint,
                           Observer& observer);

int64_t recorded_global_batch(const StateMetadata& state);  // samples of a step

// Returns whether towers, batch_size and tower_threads may differ from the checkpoint's without a
// changed bit: precision is exact both here and there.
bool split_may_change(const RunConfig& config, const StateMetadata& state);

// Sets seed and batch_size (if in RunOptions::defaulted_keys; batch_size also if it is auto),
// towers and global_batch (if not set) as the checkpoint has them. Throws Error(config) if the
// config gives other values, except for an evaluation. If split_may_change(), other towers are no
// error: the global batch stays, and batch_size follows from it; a batch_size of the config is
// replaced, with a warning.
void keep_settings(const LoadedCheckpoint& checkpoint, const RunOptions& options, RunConfig& config,
                   Observer& observer);

// Returns what the checkpoint says of the data that it was trained on; null if it says nothing.
std::shared_ptr<const SampleSpec> trained_spec(const LoadedCheckpoint& checkpoint);

// Reorders the data's columns, and with `classes` its classes, to match the checkpoint's model.
// Throws Error(data) if they are not the same. If the checkpoint does not describe its data,
// nothing is checked or changed, and a note is added to the result.
DatasetPair fit_to_checkpoint(DatasetPair data, const LoadedCheckpoint& checkpoint, bool classes);

}  // namespace spire

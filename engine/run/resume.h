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
  // None: a new run starts. Only rank 0 has the checkpoint's tensors.
  std::optional<LoadedCheckpoint> checkpoint;
  bool in_output = false;  // it is in the run's own output directory, where the run then continues
};

// Finds the checkpoint; collective. Warns of damaged checkpoints. Throws as load_named() does,
// and Error(config) if --overwrite would delete the run that is to be resumed.
ResumePoint find_resume_point(const RunConfig& config, const RunOptions& options,
                              const RankGroup& ranks, Observer& observer);

// The config of the run that saved this; none if a program with other keys wrote it.
std::optional<RunConfig> recorded_config(const StateMetadata& state);

// Forgets in the checkpoint which evaluation was the best, with a warning, where config and
// checkpoint differ in what decides that; auto stands for what it finds.
void forget_best_of_others(RunConfig config, Metric task_metric, LoadedCheckpoint& checkpoint,
                           Observer& observer);

int64_t recorded_global_batch(const StateMetadata& state);  // samples of a step

// Whether towers, batch_size and tower_threads may be others than the checkpoint's without a
// changed bit: with precision: exact, now as then.
bool split_may_change(const RunConfig& config, const StateMetadata& state);

// Sets seed and batch_size (if in RunOptions::left_out; batch_size also if it is auto), towers and
// global_batch (if not set) as the checkpoint has them. Throws Error(config) if the config gives
// other values, except for an evaluation. Where split_may_change(), towers may be others: the
// global batch stays, batch_size follows, and one that the config gives is replaced with a warning.
void keep_settings(const LoadedCheckpoint& checkpoint, const RunOptions& options, RunConfig& config,
                   Observer& observer);

// Returns what the checkpoint says of the data that it was trained on; null if it says nothing.
std::shared_ptr<const SampleSpec> trained_spec(const LoadedCheckpoint& checkpoint);

// Reorders the data's columns, and with `classes` its classes, to match the checkpoint's model.
// Throws Error(data) if they are not the same. If the checkpoint does not describe its data,
// nothing is checked or changed, and a note is added to the result.
DatasetPair fit_to_checkpoint(DatasetPair data, const LoadedCheckpoint& checkpoint, bool classes);

}  // namespace spire

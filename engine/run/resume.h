// The checkpoint that a run resumes from, and its agreement with the run's config and data.
#pragma once
#include <optional>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/run/rank_group.h"

namespace spire::inline run {

struct ResumePoint {
  std::optional<LoadedCheckpoint> checkpoint;  // none: a new run; its tensors on rank 0 only
  bool in_output = false;  // it lies in the run's own output directory, so the run continues there
};

// Finds the checkpoint on rank 0 and broadcasts its metadata, on all ranks together. The observer
// hears of damaged checkpoints that were skipped. Throws Error(checkpoint) as CheckpointLocator
// does, and Error(config) where --overwrite would delete the run that resumes.
ResumePoint find_resume_point(const RunConfig& config, const RunOptions& options,
                              const RankGroup& ranks, Observer& observer);

// Takes seed, batch size and towers, which decide what a run computes, from the checkpoint where
// the config leaves them out. Throws Error(config) where the config asks for others, but not for
// an evaluation, after which nothing is trained.
void keep_settings(const LoadedCheckpoint& checkpoint, const RunOptions& options,
                   RunConfig& config);

// Brings classes and columns of the data into the order in which the checkpoint's model knows them.
// classes: whether the model is judged by labels. Throws Error(data) where they differ. A
// checkpoint without a description of its data adds a note.
DatasetPair fit_to_checkpoint(DatasetPair data, const LoadedCheckpoint& checkpoint, bool classes);

}  // namespace spire::inline run

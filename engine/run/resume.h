// The checkpoint that a run resumes, and the check that it fits the run's config and data.
#pragma once
#include <optional>

#include <spire/train.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/run/run_placement.h"

namespace spire::inline run {

struct ResumePoint {
  std::optional<LoadedCheckpoint> checkpoint;  // none: a new run; its tensors on rank 0 only
  bool in_output = false;  // it lies in the run's own output directory, so the run continues there
};

// Finds the checkpoint; collective. Warns of damaged ones. Throws as CheckpointLocator does, and
// Error(config) where --overwrite would delete the run that resumes.
ResumePoint find_resume_point(const RunConfig& config, const RunOptions& options,
                              const RankGroup& ranks, Observer& observer);

// Takes seed, batch size and towers from the checkpoint where the config leaves them out. Throws
// Error(config) where it has others, but not for an evaluation.
void keep_settings(const LoadedCheckpoint& checkpoint, const RunOptions& options,
                   RunConfig& config);

// Puts classes (if `classes`) and columns of the data into the order of the checkpoint's model;
// adds a note where it does not describe its data. Throws Error(data) where they differ.
DatasetPair fit_to_checkpoint(DatasetPair data, const LoadedCheckpoint& checkpoint, bool classes);

}  // namespace spire::inline run

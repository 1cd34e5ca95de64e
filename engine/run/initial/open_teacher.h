// The teacher of a run (config.distill), from its file.
#pragma once
#include <memory>
#include <string>

#include <spire/observer.h>

#include "engine/checkpoint/checkpoint_store.h"
#include "engine/data/dataset.h"
#include "engine/train/placement/place_run.h"
#include "models/teacher.h"

namespace spire {

struct OpenTeacher {
  std::shared_ptr<const Teacher> teacher;  // null: the run has none
  std::string text;                        // for the start report; empty then
};

// Opens config.distill.from, whose weights are its averages where it has some, with its adapters
// merged, and sets config.distill.hash to the hash of these; collective. Each process reads the
// file for it, and again when its devices take the weights. student: of the run's data. resumed:
// the checkpoint that the run goes on from, or null. Throws what WeightFile throws;
// Error(checkpoint) if the file is no checkpoint, its config cannot be read or its model is of a
// program, or if the weights have another hash than config.distill, `resumed` or another process
// has; Error(data) if the teacher was trained on other inputs or classes. Warns of other
// normalization.
OpenTeacher open_teacher(RunConfig& config, const SampleSpec& student, const RankGroup& ranks,
                         const LoadedCheckpoint* resumed, Observer& observer);

}  // namespace spire

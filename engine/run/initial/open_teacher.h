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

// Opens config.distill.from (the averaged weights if it has some, with adapters merged) and sets
// config.distill.hash to the hash of these weights; collective. Each process reads the file twice:
// for the hash, and when its devices take the weights. student: describes the run's data. resumed:
// the checkpoint that the run resumes, or null. Throws what WeightFile throws; Error(checkpoint) if
// the file is no checkpoint, if its config cannot be read, if its model is a program's own, or if
// the hash differs from that of config.distill, `resumed` or another process; Error(data) if the
// teacher was trained on other inputs or classes. Warns if its data was normalized otherwise.
OpenTeacher open_teacher(RunConfig& config, const SampleSpec& student, const RankGroup& ranks,
                         const LoadedCheckpoint* resumed, Observer& observer);

}  // namespace spire

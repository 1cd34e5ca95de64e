// Where a run's choices among engines come from, and where they go. One place for each: opened
// before the trainer is made, shared while it is made, kept after.
#pragma once
#include <memory>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/process/group/process_group.h"
#include "kernels/autotune/tuning.h"

namespace spire::inline training {

struct TuningSource {
  std::string recorded = {};  // recorded_text() of the checkpoint that the run goes on from
  bool gpus = false;          // the run computes on GPUs
  bool first = true;          // it is rank 0, which chooses for all
};

// Without `cuda.autotune` a run on GPUs has none: null. On CPUs what was recorded is carried on.
// The observer hears of a cache file that is of no use. Throws Error(checkpoint) where `recorded`
// is not such a text.
std::unique_ptr<Tuning> open_tuning(const CudaConfig& config, const TuningSource& source,
                                    Observer& observer);

// All ranks call it, rank 0 when it has chosen, the others before they choose: they get rank 0's
// choices. Throws PeerLost.
void share_tuning(Tuning& tuning, ProcessGroup& group);

// What a checkpoint records: empty where nothing was chosen. tuning may be null.
std::string recorded_text(const Tuning* tuning);

// Adds what this run has measured to the cache file. A file that cannot be written is a warning:
// the checkpoints have the choices, too. Tells of own kernels that are used for want of engines,
// and how long plans of cuDNN took; those that are new are kept beside the file.
void keep_tuning(const CudaConfig& config, Tuning& tuning, Observer& observer);

}  // namespace spire::inline training

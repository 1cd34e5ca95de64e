// Loads, shares and stores a run's choices among GPU engines: opened before the trainer is made,
// shared between ranks while it compiles, stored after.
#pragma once
#include <memory>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/process/group/process_group.h"
#include "kernels/autotune/tuning.h"

namespace spire::inline training {

struct TuningSource {
  std::string recorded = {};  // recorded_text() of the checkpoint that the run resumes
  bool gpus = false;          // the run computes on GPUs
  bool first = true;          // it is rank 0, which chooses for all
};

// Loads the recorded choices and the cache. Null for a run on GPUs without `cuda.autotune`; a run
// on CPUs carries recorded choices on. Warns of an unusable cache file. Throws Error(checkpoint)
// where `recorded` cannot be read.
std::unique_ptr<Tuning> open_tuning(const CudaConfig& config, const TuningSource& source,
                                    Observer& observer);

// Broadcasts rank 0's choices. All ranks call it: rank 0 after it has chosen, the others before
// they compile. Throws PeerLost.
void share_tuning(Tuning& tuning, ProcessGroup& group);

// Text of the choices for a checkpoint; empty where nothing was chosen. tuning may be null.
std::string recorded_text(const Tuning* tuning);

// Adds this run's measurements to the cache file. A failed write is a warning, as checkpoints have
// the choices, too. Tells of own kernels that are used for want of engines,
// and how long plans of cuDNN took; those that are new are kept beside the file.
void keep_tuning(const CudaConfig& config, Tuning& tuning, Observer& observer);

}  // namespace spire::inline training

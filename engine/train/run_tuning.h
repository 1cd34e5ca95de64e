// Choices among GPU engines and versions of GPU libraries, which decide the last bits of a run's
// results: loaded and compared when it starts, shared between ranks, stored for the next run.
#pragma once
#include <map>
#include <memory>
#include <string>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/device/device.h"
#include "engine/process/group/process_group.h"
#include "kernels/autotune/tuning.h"

namespace spire::inline training {

struct TuningSource {
  std::string recorded = {};  // recorded_text() of the checkpoint that the run resumes
  bool gpus = false;          // the run computes on GPUs
  bool first = true;          // it is rank 0, which chooses for all
};

// Loads the recorded choices, which CPUs carry on, and the cache. Null for GPUs without
// `cuda.autotune`. Throws Error(checkpoint) where `recorded` cannot be read.
std::unique_ptr<Tuning> open_tuning(const CudaConfig& config, const TuningSource& source,
                                    Observer& observer);

// Broadcasts rank 0's choices. All ranks call it: rank 0 after it has chosen, the others before
// they compile. Throws PeerLost.
void share_tuning(Tuning& tuning, ProcessGroup& group);

// Returns the choices as text for a checkpoint; empty where nothing was chosen or tuning is null.
std::string recorded_text(const Tuning* tuning);

// Adds this run's measurements and cuDNN's new plans to the cache, and notes native kernels that
// are used for want of engines. A failed write is a warning, as checkpoints have the choices, too.
void keep_tuning(const CudaConfig& config, Tuning& tuning, Observer& observer);

using LibraryVersions = std::map<std::string, std::string>;  // library -> version

LibraryVersions library_versions(DeviceKind kind);  // of cuBLASLt and cuDNN; on CPUs none

// Lists the libraries whose version changed: "cuBLASLt is 13.1.0, was 13.0.2; ..."; empty if none.
std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now);

}  // namespace spire::inline training

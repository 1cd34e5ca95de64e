// Choices of GPU engines (the algorithms that cuDNN and cuBLASLt offer) and versions of the GPU
// libraries, which decide the last bits of a run's results. They are loaded and compared at the
// start, shared between ranks, and stored for the next run in a cache, which several processes may
// use at the same time.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <spire/observer.h>
#include <spire/run_config.h>

#include "engine/device/device.h"
#include "engine/process/group/process_group.h"
#include "kernels/cuda/tuning.h"

namespace spire {

struct TuningSource {
  std::string recorded = {};  // recorded_text() of the checkpoint that the run resumes
  bool gpus = false;          // whether the run computes on GPUs
  bool first = true;          // whether this is rank 0, which chooses for all
};

// Loads the recorded choices and, on rank 0 of a run on GPUs, the cache. A run on CPUs only passes
// the recorded choices on to its checkpoints. Returns null on GPUs with cuda.autotune: false.
// Throws Error(checkpoint) if `recorded` cannot be read.
std::unique_ptr<Tuning> open_tuning(const CudaConfig& config, const TuningSource& source,
                                    Observer& observer);

// Broadcasts rank 0's choices. All ranks call it: rank 0 after it has compiled its plans, which
// makes the choices; the others before they compile. Throws PeerLost.
void share_tuning(Tuning& tuning, ProcessGroup& group);

// Returns the choices as text for a checkpoint; empty if nothing was chosen or tuning is null.
std::string recorded_text(const Tuning* tuning);

// Adds this run's measurements and new cuDNN plans to the cache, and notes operations for which
// cuDNN has no engine. A failed write is only a warning, as checkpoints have the choices, too.
void keep_tuning(const CudaConfig& config, Tuning& tuning, Observer& observer);

using LibraryVersions = std::map<std::string, std::string>;  // library -> version

LibraryVersions library_versions(DeviceKind kind);  // cuBLASLt and cuDNN; empty on CPUs

// Lists the libraries whose version changed: "cuBLASLt is 13.1.0, was 13.0.2; ..."; empty if none.
std::string changed_versions(const LibraryVersions& before, const LibraryVersions& now);

// Returns the path that `cuda.autotune_cache` means: "auto" is spire/tuning.txt in $XDG_CACHE_HOME
// or ~/.cache. "none", and "auto" without a home, give an empty path: no cache.
std::filesystem::path tuning_cache_path(const std::string& word);

struct TuningCacheContent {
  TuningChoices choices;
  std::string problem;  // why an existing file could not be used; empty if it could
};
// Never throws. A missing file has no choices; a damaged or unreadable one sets `problem`.
TuningCacheContent read_tuning_cache(const std::filesystem::path& path);

// Adds the choices that a run has measured; makes the file and its folders. Choices in the file
// stay, except those in Tuning::replaced. Throws Error(config) with file and system error.
void add_to_tuning_cache(const std::filesystem::path& path, const Tuning& tuning);

// Returns the folder of compiled cuDNN plans: "tuning.txt.plans"; empty for an empty path.
std::filesystem::path plan_folder(const std::filesystem::path& path);
// Writes the store's new plans while it holds the cache file's lock. Throws as PlanStore::write().
void add_plans_to_cache(const std::filesystem::path& path, PlanStore& plans);

}  // namespace spire

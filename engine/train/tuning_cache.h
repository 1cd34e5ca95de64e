// Cache file of the GPU engines (library algorithms) that runs have chosen, so that the next run on
// such a device need not measure. Several processes may use it at the same time.
#pragma once
#include <filesystem>
#include <string>

#include "kernels/autotune/tuning.h"

namespace spire {

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

// Cache file of choices among GPU engines, so that the next run on such a device makes the same
// ones without measuring. Any number of processes may use it at a time.
#pragma once
#include <filesystem>
#include <string>

#include "kernels/autotune/tuning.h"

namespace spire::inline training {

// Resolves `cuda.autotune_cache`: "auto" is spire/tuning.txt in $XDG_CACHE_HOME or ~/.cache; empty,
// for no file, is "none", or "auto" without a home.
std::filesystem::path tuning_cache_path(const std::string& word);

struct TuningCacheContent {
  TuningChoices choices;
  std::string problem;  // why an existing file could not be used; empty: no problem
};
// Never throws: a missing file is empty; a damaged or unreadable one is a problem.
TuningCacheContent read_tuning_cache(const std::filesystem::path& path);

// Adds the choices that a run has measured; makes the file and its folders. The file's choices win,
// but for those in Tuning::replaced. Throws Error(config) naming the file and the system's reason.
void add_to_tuning_cache(const std::filesystem::path& path, const Tuning& tuning);

std::filesystem::path plan_folder(
    const std::filesystem::path& path);  // "tuning.txt.plans"; or empty
// Writes the store's new plans, under the file's lock. Throws Error(config) as PlanStore::write.
void add_plans_to_cache(const std::filesystem::path& path, PlanStore& plans);

}  // namespace spire::inline training

// The cache file of choices among GPU engines, so that the next run on such a device makes the same
// choices without measuring. Any number of processes may use it at a time.
#pragma once
#include <filesystem>
#include <string>

#include "kernels/autotune/tuning.h"

namespace spire::inline training {

// Resolves `cuda.autotune_cache`: "auto" is $XDG_CACHE_HOME/spire/tuning.txt, or
// ~/.cache/spire/tuning.txt where that variable names no absolute path; "none", or "auto" without a
// home, is empty: no file.
std::filesystem::path tuning_cache_path(const std::string& word);

struct TuningCacheContent {
  TuningChoices choices;
  std::string problem;  // why an existing file could not be used; empty: no problem
};
// Reads the file; never throws. A missing file is empty; a damaged or unreadable one is a problem.
TuningCacheContent read_tuning_cache(const std::filesystem::path& path);

// Adds the choices that a run has measured; makes the file and its folders. A damaged file is
// replaced. A good one keeps its choices for the same keys, unless the run found that they cannot
// be used any more (Tuning::replaced). Throws Error(config) naming the file and the system's
// reason.
void add_to_tuning_cache(const std::filesystem::path& path, const Tuning& tuning);

// Folder of cuDNN's compiled plans beside the file: "tuning.txt.plans". Empty for an empty path.
std::filesystem::path plan_folder(const std::filesystem::path& path);
// Writes the new plans of the store, under the lock of that file. Throws Error(config) as
// PlanStore::write.
void add_plans_to_cache(const std::filesystem::path& path, PlanStore& plans);

}  // namespace spire::inline training

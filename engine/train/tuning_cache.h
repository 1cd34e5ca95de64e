// The file in which choices among engines outlive a run, so that the next one on such a device
// chooses alike, at once. Any number of processes may use it at a time.
#pragma once
#include <filesystem>
#include <string>

#include "kernels/autotune/tuning.h"

namespace spire::inline training {

// What `cuda.autotune_cache` means: "auto" is $XDG_CACHE_HOME/spire/tuning.txt, or
// ~/.cache/spire/tuning.txt where that variable names no absolute path; "none", or "auto" without a
// home, is empty: no file.
std::filesystem::path tuning_cache_path(const std::string& word);

struct TuningCacheContent {
  TuningChoices choices;
  std::string problem;  // why nothing of a file that is there could be used; empty: no problem
};
// Never throws: a file that is not there is empty, one that is damaged or somebody else's is a
// problem.
TuningCacheContent read_tuning_cache(const std::filesystem::path& path);

// Adds what a run has measured; makes the file and its folders. A damaged file is replaced. A whole
// one keeps the choices that it has for the same keys, those of processes that were quicker among
// them, unless the run found that they cannot be used any more (Tuning::replaced). Throws
// Error(config) naming the file and the system's reason.
void add_to_tuning_cache(const std::filesystem::path& path, const Tuning& tuning);

// Beside the file of choices, cuDNN's plans for them: "tuning.txt.plans". Empty where the path is.
std::filesystem::path plan_folder(const std::filesystem::path& path);
// Writes what is new in the store, under the lock of that file. Throws Error(config) as
// PlanStore::write.
void add_plans_to_cache(const std::filesystem::path& path, PlanStore& plans);

}  // namespace spire::inline training

// What the output directory of a run holds, as far as it decides how a run begins. Any thread.
#pragma once
#include <filesystem>

#include <spire/export.h>

namespace spire {

// Returns whether a directory contains anything but the record file of runs; false if it does not
// exist. Throws Error(config) if the system refuses to list it.
SPIRE_API bool holds_something(const std::filesystem::path& directory);

// Returns whether the run has written a checkpoint, so that --resume auto goes on from it. Throws
// Error(checkpoint) if the folder cannot be listed.
SPIRE_API bool has_checkpoint(const std::filesystem::path& directory);

}  // namespace spire

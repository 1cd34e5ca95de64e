// Room for a run's checkpoints on the disk of its output.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "engine/run/machine/finding.h"
#include "engine/run/machine/process_limits.h"

namespace spire {

// Returns `folder`, or the nearest folder above it that exists.
std::filesystem::path existing_folder(std::filesystem::path folder);

struct CheckpointNeed {
  uint64_t bytes = 0;  // of one checkpoint
  int64_t kept = 0;    // how many stay at a time, the best one included
  uint64_t there = 0;  // bytes of those that the disk already has: they stay or are replaced
};

// need: of the config's run; none without a config. Topic: disk_space. While a checkpoint is
// written, those that it replaces are still there.
Finding check_disk_space(const std::filesystem::path& folder, const FileSystemSpace& space,
                         const std::optional<CheckpointNeed>& need);

}  // namespace spire

// Checks of the disks of a run: room and speed of its output folder, speed of HDF5 files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/run/machine/disk_space.h"

namespace spire {

// How much a trial of a disk takes at most.
struct TrialLimits {
  uint64_t bytes = uint64_t{64} << 20;
  double seconds = 1.0;  // of writing, and again of reading; a single slow call may take longer
};

struct DiskTrial {
  std::filesystem::path folder;  // that was tried: the output folder, or where it will be made
  std::string problem;           // why the trial failed; empty if it did not
  std::optional<FileSystemSpace> space;
  double written_per_s = 0, read_per_s = 0;  // bytes; 0: not known
};

// Writes a temporary file into the folder, or the nearest that exists, with the data on the disk
// at the end, reads it and removes it. The system's cache is dropped between both where it can be:
// on a disk in memory the file is read from memory.
DiskTrial try_disk(const std::filesystem::path& folder, const TrialLimits& limits = {});

// need: of the config's run; none without a config. Topics: disk_space, disk_speed.
Findings check_disk(const DiskTrial& trial, const std::optional<CheckpointNeed>& need);
struct Hdf5Trial {
  std::string what;     // "data/train.h5, images", "a file made for this"
  std::string problem;  // why it cannot be read; empty if it can
  uint64_t bytes = 0;   // that were read
  double seconds = 0;
};

// Reads rows of the largest dataset of the file, in order.
Hdf5Trial try_hdf5(const std::filesystem::path& file, const TrialLimits& limits = {});
// Makes a small file in the folder, or the nearest that exists, reads and removes it.
Hdf5Trial try_made_hdf5(const std::filesystem::path& folder, const TrialLimits& limits = {});

// Topic: hdf5.
Finding check_hdf5(const Hdf5Trial& trial);

}  // namespace spire

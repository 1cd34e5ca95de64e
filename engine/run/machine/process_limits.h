// Checks of limits that the system sets to this process: shared memory, locked memory, open files.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

#include "engine/run/machine/finding.h"

namespace spire {

struct FileSystemSpace {  // bytes
  uint64_t total = 0, free = 0;
};

// Returns the space of the file system of a folder; none if the system does not tell.
std::optional<FileSystemSpace> space_at(const std::filesystem::path& folder);

struct ProcessLimits {
  std::optional<FileSystemSpace> shm = {};  // of /dev/shm; none: there is no such folder
  uint64_t memlock = 0;                     // ulimit -l, in bytes; RLIM_INFINITY: no limit
  uint64_t files = 0;                       // ulimit -n
  bool infiniband = false;                  // the host has an adapter for InfiniBand or RoCE
};

// root: the folder that contains dev and sys; tests have one of their own.
ProcessLimits read_process_limits(const std::filesystem::path& root = "/");

// gpus: number of GPUs that runs may use. Topics: shm, memlock, open_files.
Findings check_process_limits(const ProcessLimits& limits, int gpus);

// The parts that a run of several processes or members on GPUs depends on.
Finding check_shm(const ProcessLimits& limits, int gpus);
Finding check_memlock(const ProcessLimits& limits);

}  // namespace spire

// Checks of what the system gives this process: shared and locked memory, open files, the host's
// memory by cgroups and ulimits, swap space, huge pages, and room on the disk of a run's output.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/topology.h"
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

// root, here and below: the folder that contains dev, proc and sys; tests have one of their own.
ProcessLimits read_process_limits(const std::filesystem::path& root = "/");

// gpus: number of GPUs that runs may use. Topics: shm, memlock, open_files.
Findings check_process_limits(const ProcessLimits& limits, int gpus);

// The two of these on which runs of several processes or members on GPUs depend.
Finding check_shm(const ProcessLimits& limits, int gpus);
Finding check_memlock(const ProcessLimits& limits);

struct SwapState {               // bytes, of the machine
  uint64_t total = 0, used = 0;  // swap space
  uint64_t memory_total = 0, memory_available = 0;
};

struct MemoryState {
  std::vector<HostLimit> limits;  // host_limits(): the machine's memory first
  SwapState swap;
  std::string huge_pages;  // "always", "madvise", "never"; empty: the kernel does not tell
};

SwapState read_swap(const std::filesystem::path& root = "/");  // opens one file
MemoryState read_memory_state(const std::filesystem::path& root = "/");

// Topics: memory, swap, huge_pages.
Findings check_memory_state(const MemoryState& memory);
Finding check_swap(const SwapState& swap);

// Returns `folder`, or the nearest folder above it that exists.
std::filesystem::path existing_folder(std::filesystem::path folder);

struct CheckpointNeed {
  uint64_t bytes = 0;  // of one checkpoint
  int64_t kept = 0;    // how many stay at a time, the best one included
  uint64_t there = 0;  // bytes of checkpoints already on the disk: they stay or are replaced
};

// need: of a run with the config; nullopt if there is no config. Topic: disk_space. Counts one more
// checkpoint than are kept: while it is written, those that it replaces are still there.
Finding check_disk_space(const std::filesystem::path& folder, const FileSystemSpace& space,
                         const std::optional<CheckpointNeed>& need);

}  // namespace spire

// Checks of the host's memory: limits of cgroups and ulimits, swap space, huge pages.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/topology.h"
#include "engine/doctor/finding.h"

namespace spire::inline doctor {

struct MemoryState {
  std::vector<HostLimit> limits;  // host_limits(): the machine's memory first
  uint64_t swap_total = 0, swap_used = 0;
  std::string huge_pages;  // "always", "madvise", "never"; empty: the kernel does not tell
};

// root: the folder that contains proc and sys; tests have one of their own.
MemoryState read_memory_state(const std::filesystem::path& root = "/");

// Topics: memory, swap, huge_pages.
Findings check_memory_state(const MemoryState& memory);
Finding check_swap(const MemoryState& memory);

}  // namespace spire::inline doctor

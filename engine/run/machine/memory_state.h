// Checks of the host's memory: limits of cgroups and ulimits, swap space, huge pages.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/topology.h"
#include "engine/run/machine/finding.h"

namespace spire {

struct SwapState {               // bytes, of the machine
  uint64_t total = 0, used = 0;  // swap space
  uint64_t memory_total = 0, memory_available = 0;
};

struct MemoryState {
  std::vector<HostLimit> limits;  // host_limits(): the machine's memory first
  SwapState swap;
  std::string huge_pages;  // "always", "madvise", "never"; empty: the kernel does not tell
};

// root, here and below: the folder that contains proc and sys; tests have one of their own.
SwapState read_swap(const std::filesystem::path& root = "/");  // opens one file
MemoryState read_memory_state(const std::filesystem::path& root = "/");

// Topics: memory, swap, huge_pages.
Findings check_memory_state(const MemoryState& memory);
Finding check_swap(const SwapState& swap);

}  // namespace spire

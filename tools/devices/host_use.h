// How busy the host's cores are, and how much of its memory is in use.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace spire::tool {

struct CoreTime {  // since the system started, in ticks
  uint64_t busy = 0, total = 0;
};

struct HostUse {
  std::vector<double> cores;                   // share of time in which each was busy, 0..1
  uint64_t memory_used = 0, memory_total = 0;  // bytes; used: what is not available to programs
};

// root: the folder that contains proc; tests have one of their own.
std::vector<CoreTime> read_core_times(const std::filesystem::path& root = "/");
HostUse use_since(const std::vector<CoreTime>& before, const std::vector<CoreTime>& now,
                  const std::filesystem::path& root = "/");

}  // namespace spire::tool

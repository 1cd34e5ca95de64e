// How busy the host's cores are, and how much of its memory is in use.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>

namespace spire {

struct CoreTime {  // since the system started, in ticks
  uint64_t busy = 0, total = 0;
  uint64_t nice = 0;  // the part of `busy` of programs with a lowered priority
};

using CoreTimes = std::map<int, CoreTime>;  // by number; cores that are offline have none

struct HostUse {
  std::map<int, double> cores;  // by number: share of time in which each was busy, 0..1
  uint64_t memory_used = 0, memory_total = 0;  // bytes; used: what is not available to programs
};

// root: the folder that contains proc; tests have one of their own.
CoreTimes read_core_times(const std::filesystem::path& root = "/");
// A core that was not online at both times is left out.
HostUse use_since(const CoreTimes& before, const CoreTimes& now,
                  const std::filesystem::path& root = "/");

}  // namespace spire

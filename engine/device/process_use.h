// What this process uses of the host: CPU time by thread and memory; and the state of its cores.
// Read from /proc and /sys, whose root tests replace. Values that the system does not tell are
// empty. Nothing throws.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace spire {

// Returns the CPU time, in seconds, of the threads of this process by their names
// (ThreadPlace::name); threads of one name are added up. It advances in steps of 10 ms (proc(5)).
std::map<std::string, double> thread_seconds(const std::filesystem::path& root = "/");

std::optional<uint64_t> resident_bytes(const std::filesystem::path& root = "/");

struct CoreState {
  std::optional<int> mhz, max_mhz;      // means; virtual machines seldom tell
  std::optional<uint64_t> heat_events;  // how often heat has lowered their clocks since the start
};
// Reads at most four of the cores, as reading a clock can disturb or delay a core.
CoreState core_state(std::span<const int> cores, const std::filesystem::path& root = "/");

}  // namespace spire

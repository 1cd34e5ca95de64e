// How much of a device's memory a run may take, as `memory.limit` says it.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace spire::inline config {

struct MemoryLimit {
  std::optional<double> fraction;  // of all the device has, in (0, 1]
  std::optional<size_t> bytes;     // neither: what the device has

  // For each of `sharers` logical devices on one of `total` bytes; none: no limit.
  std::optional<size_t> share(size_t total, size_t sharers) const;
};

// "auto"; a fraction: "0.5", "1"; or bytes with their unit: "20GiB", "1.5 GB", "512MiB".
// Throws Error(config) for anything else.
MemoryLimit parse_memory_limit(std::string_view text);

}  // namespace spire::inline config

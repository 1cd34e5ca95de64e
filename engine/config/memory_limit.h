// Limit of the device memory that a run may use, parsed from memory.limit.
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

namespace spire {

struct MemoryLimit {
  std::optional<double> fraction;  // of the device's memory, in (0, 1]
  std::optional<size_t> bytes;     // no limit if neither is set

  // Returns the limit of each of `sharers` devices that share `total` bytes; nullopt for no limit.
  std::optional<size_t> share(size_t total, size_t sharers) const;
};

// Parses "auto", a fraction ("0.5", "1"), or bytes with their unit ("20GiB", "1.5 GB", "512MiB").
// Throws Error(config) for anything else.
MemoryLimit parse_memory_limit(std::string_view text);

}  // namespace spire

// Small files in which the kernel tells one fact.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace spire {

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

// Returns names and bytes in a file with lines such as "MemTotal:  123 kB", also with "Node 0 "
// before them; opens it once. Without a file, or in another form: empty.
std::map<std::string, uint64_t> read_meminfo(const std::filesystem::path& path);

}  // namespace spire

// Reads small text files of /proc and /sys.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace spire {

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

// Reads a file of lines "MemTotal:  123 kB" (/proc/meminfo) or "Node 0 MemTotal:  123 kB" and
// returns the bytes by name. Lines without a unit, such as HugePages_Total, are also taken as kB.
// Empty if the file is missing or has another form.
std::map<std::string, uint64_t> read_meminfo(const std::filesystem::path& path);

}  // namespace spire

// Small files in which the kernel tells one fact.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace spire::inline doctor {

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::filesystem::path& path);

// Returns the bytes that stand in KiB behind `name` in one of the file's lines, as in
// "MemTotal:  123 kB" and "Node 0 MemTotal:  123 kB"; 0 if there is none.
uint64_t bytes_behind(const std::filesystem::path& path, std::string_view name);

}  // namespace spire::inline doctor

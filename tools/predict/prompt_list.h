// Prompts of a file, for `trainer predict --prompts`.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace spire::tool {

// Reads a file (at most 64 MiB) of prompts: one a line, without its end; or, if its name ends with
// .jsonl, an object {"prompt": "text"} a line, whose other members are ignored. Empty lines are
// left out. Throws Error(data) that names the file and the line.
std::vector<std::string> read_prompts(const std::filesystem::path& path);

}  // namespace spire::tool

// Where the files of a named dataset are looked for, when the config says path: auto.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace spire::inline data {

// $SPIRE_DATA/name, ./data/name, /usr/share/datasets/name.
std::vector<std::filesystem::path> known_folders(const std::string& name);

// The first of the folders that holds `file`, plain or .gz. Error(data) lists all, then `advice`.
std::filesystem::path find_dataset(const std::vector<std::filesystem::path>& folders,
                                   const std::string& file, const std::string& advice);

}  // namespace spire::inline data

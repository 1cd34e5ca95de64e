// Recognizes the format of data by the names of its files.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace spire {

struct RecognizedData {
  std::string what;                                       // "a table", for people
  std::vector<std::pair<std::string, std::string>> keys;  // "data.name" -> "csv", as YAML
};

// Throws Error(config) if there is no such file or folder, or no format fits; the message lists
// what is recognized.
RecognizedData recognize_data(const std::filesystem::path& path);

}  // namespace spire

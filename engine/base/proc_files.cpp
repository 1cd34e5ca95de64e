#include "engine/base/proc_files.h"

#include <fstream>
#include <sstream>

namespace spire {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::map<std::string, uint64_t> read_meminfo(const std::filesystem::path& path) {
  std::map<std::string, uint64_t> bytes;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    int node = 0;
    words >> name;
    if (name == "Node") words >> node >> name;
    uint64_t kib = 0;
    if (name.ends_with(':') && words >> kib) bytes[name.substr(0, name.size() - 1)] = kib << 10;
  }
  return bytes;
}

}  // namespace spire

#include "engine/doctor/system_text.h"

#include <fstream>
#include <sstream>

namespace spire::inline doctor {

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint64_t bytes_behind(const std::filesystem::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    size_t at = line.find(name);
    if (at == line.npos) continue;
    std::istringstream rest(line.substr(at + name.size()));
    uint64_t kib = 0;
    rest >> kib;
    return kib << 10;
  }
  return 0;
}

}  // namespace spire::inline doctor

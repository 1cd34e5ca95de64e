#include "engine/data/search_paths.h"

#include <cstdlib>

#include <spire/error.h>

#include "engine/data/input_file.h"

namespace spire::inline data {

namespace fs = std::filesystem;

std::vector<fs::path> known_folders(const std::string& name) {
  std::vector<fs::path> folders;
  if (const char* root = std::getenv("SPIRE_DATA")) folders.push_back(fs::path(root) / name);
  folders.push_back(fs::path("./data") / name);
  folders.push_back(fs::path("/usr/share/datasets") / name);
  return folders;
}

fs::path find_dataset(const std::vector<fs::path>& folders, const std::string& file,
                      const std::string& advice) {
  std::string tried;
  for (const fs::path& folder : folders) {
    if (!find_input(folder / file).empty()) return folder;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", folder.string());
  }
  fail(Category::data, "there is no {}[.gz] in any of: {}; {}, or set data.path", file, tried,
       advice);
}

}  // namespace spire::inline data

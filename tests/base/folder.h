// Folders of tests, and files in them.
#pragma once
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>

namespace spire {

// A new folder, which goes with the object and all that is in it.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string name = parent / "spire_test_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder in " + name);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  operator const std::filesystem::path&() const { return path_; }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }
  // Writes a file and makes the folders above it; returns its path.
  std::filesystem::path write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

 private:
  std::filesystem::path path_;
};

// The bytes of a file; empty when it is not there or cannot be read, as a file of /proc whose
// process ends meanwhile.
inline std::string content_of(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

}  // namespace spire

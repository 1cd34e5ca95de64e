#pragma once
#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

namespace spire {

// Files below a folder that stands for "/", removed with the object.
class SystemFiles {
 public:
  SystemFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "system-XXXXXX").string();
    root_ = mkdtemp(name.data());
  }
  ~SystemFiles() { std::filesystem::remove_all(root_); }
  SystemFiles(const SystemFiles&) = delete;
  SystemFiles& operator=(const SystemFiles&) = delete;

  SystemFiles& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
    return *this;
  }
  const std::filesystem::path& root() const { return root_; }

 private:
  std::filesystem::path root_;
};

}  // namespace spire

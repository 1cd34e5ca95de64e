// The files that a command reads, which it must not write over.
#pragma once
#include <filesystem>
#include <set>
#include <sys/types.h>
#include <utility>

namespace spire::tool {

class FilesRead {
 public:
  void add(const std::filesystem::path& path);  // nothing, where it is not there
  // Throws Error(config) where `path` is one of them, by this name or another one.
  void refuse_as_target(const std::filesystem::path& path) const;

 private:
  std::set<std::pair<dev_t, ino_t>> files_;
};

}  // namespace spire::tool

#include "tools/files_read.h"

#include <optional>
#include <sys/stat.h>

#include <spire/error.h>

namespace spire::tool {

namespace {

std::optional<std::pair<dev_t, ino_t>> identity(const std::filesystem::path& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

}  // namespace

void FilesRead::add(const std::filesystem::path& path) {
  if (auto file = identity(path)) files_.insert(*file);
}

void FilesRead::refuse_as_target(const std::filesystem::path& path) const {
  auto file = identity(path);
  if (file && files_.contains(*file))
    fail(Category::config, "--to: {} is one of the inputs; choose another file", path.string());
}

}  // namespace spire::tool

#include "engine/observe/job_name.h"

#include <filesystem>

namespace spire {

std::string job_name(const StartInfo& start) {
  std::filesystem::path path = std::filesystem::path(start.output).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  std::string name = path.filename().string();
  return name.empty() || name == "." || name == ".." ? start.model : name;
}

}  // namespace spire

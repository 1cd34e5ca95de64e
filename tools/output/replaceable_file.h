// Files of the program's own that it replaces without being asked.
#pragma once
#include <filesystem>

namespace spire {

enum class ReplaceableFile { page, range_test, timeline };

// Throws Error(config) if `path` holds something that does not begin as such a file does: it is
// somebody else's, and is not replaced.
void require_replaceable(const std::filesystem::path& path, ReplaceableFile kind);

}  // namespace spire

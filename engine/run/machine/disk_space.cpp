#include "engine/run/machine/disk_space.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace spire {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t enough_space = uint64_t{1} << 30;

}  // namespace

fs::path existing_folder(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

Finding check_disk_space(const fs::path& folder, const FileSystemSpace& space,
                         const std::optional<CheckpointNeed>& need) {
  Finding finding{"disk_space", FindingLevel::ok,
                  fmt::format("{} of {} are free for {}", limit_text(space.free),
                              limit_text(space.total), folder.string())};
  finding.values = {{"free_bytes", static_cast<double>(space.free)},
                    {"total_bytes", static_cast<double>(space.total)}};
  if (!need) {
    if (space.free >= enough_space) return finding;
    return warning(std::move(finding),
                   "checkpoints may not fit; make room, or set output to another disk");
  }
  uint64_t all = need->bytes * static_cast<uint64_t>(need->kept + 1);
  finding.seen += fmt::format("; a checkpoint takes {}, {} of them {}", limit_text(need->bytes),
                              need->kept + 1, limit_text(all));
  if (need->there > 0) finding.seen += fmt::format(", {} are there", limit_text(need->there));
  finding.values.emplace_back("checkpoint_bytes", static_cast<double>(need->bytes));
  uint64_t missing = std::max(need->bytes, all - std::min(all, need->there));
  if (space.free >= missing) return finding;
  finding.level = space.free < need->bytes ? FindingLevel::fail : FindingLevel::warn;
  finding.remedy = fmt::format(
      "make room, set output to another disk, or lower checkpoint.keep_last; {} are kept, and one "
      "more while it is written",
      need->kept);
  return finding;
}

}  // namespace spire

// Writing and reading a temporary file, and what room and speed mean for a run.
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/system_limits.h"
#include "engine/doctor/storage.h"

namespace spire::inline doctor {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t block_bytes = size_t{1} << 20;
constexpr uint64_t gib = uint64_t{1} << 30;
constexpr double slow_disk = 50e6;  // bytes a second

// A file without a name: it is gone when the process ends, however that happens.
class NamelessFile {
 public:
  explicit NamelessFile(const fs::path& folder) {
    std::string name = (folder / ".spire-doctor-XXXXXX").string();
    descriptor_ = mkostemp(name.data(), O_CLOEXEC);
    if (descriptor_ >= 0) unlink(name.c_str());
  }
  ~NamelessFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  NamelessFile(const NamelessFile&) = delete;
  NamelessFile& operator=(const NamelessFile&) = delete;

  int descriptor() const { return descriptor_; }  // -1: it cannot be made; errno says why

 private:
  int descriptor_;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Calls move(block) until the limits are reached or it fails. Returns the bytes that were moved.
template <typename Move>
uint64_t move_blocks(const TrialLimits& limits, Clock::time_point begin, const Move& move) {
  uint64_t moved = 0;
  while (moved < limits.bytes && seconds_since(begin) < limits.seconds) {
    ssize_t bytes = move();
    if (bytes <= 0) return moved;
    moved += static_cast<uint64_t>(bytes);
  }
  return moved;
}

}  // namespace

fs::path existing_folder(fs::path folder) {
  std::error_code error;
  folder = fs::absolute(folder, error);
  while (!fs::is_directory(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return folder;
}

DiskTrial try_disk(const fs::path& folder, const TrialLimits& limits) {
  fs::path tried = existing_folder(folder);
  DiskTrial trial{.folder = tried, .problem = "", .space = space_at(tried)};
  NamelessFile file(trial.folder);
  if (file.descriptor() < 0) {
    trial.problem =
        fmt::format("no file can be made in {}: {}", trial.folder.string(), system_reason(errno));
    return trial;
  }
  // Not zeros, which some file systems do not store.
  std::vector<char> block(block_bytes);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 2654435761u >> 13);
  auto begin = Clock::now();
  uint64_t written = move_blocks(
      limits, begin, [&] { return write(file.descriptor(), block.data(), block.size()); });
  if (written == 0 || fsync(file.descriptor()) != 0) {
    trial.problem =
        fmt::format("{} cannot be written to: {}", trial.folder.string(), system_reason(errno));
    return trial;
  }
  trial.written_per_s = static_cast<double>(written) / seconds_since(begin);
  posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
  lseek(file.descriptor(), 0, SEEK_SET);
  begin = Clock::now();
  uint64_t read_bytes = move_blocks(
      limits, begin, [&] { return read(file.descriptor(), block.data(), block.size()); });
  trial.read_per_s = static_cast<double>(read_bytes) / seconds_since(begin);
  return trial;
}

Finding check_disk_space(const fs::path& folder, const FileSystemSpace& space,
                         const std::optional<CheckpointNeed>& need) {
  Finding finding{"disk_space", Level::ok,
                  fmt::format("{} of {} are free for {}", limit_text(space.free),
                              limit_text(space.total), folder.string())};
  finding.values = {{"free_bytes", static_cast<double>(space.free)},
                    {"total_bytes", static_cast<double>(space.total)}};
  if (!need) {
    if (space.free >= gib) return finding;
    finding.level = Level::warn;
    finding.remedy = "checkpoints may not fit; make room, or set output to another disk";
    return finding;
  }
  uint64_t all = need->bytes * static_cast<uint64_t>(need->kept + 1);
  finding.seen += fmt::format("; a checkpoint takes {}, {} of them {}", limit_text(need->bytes),
                              need->kept + 1, limit_text(all));
  finding.values.emplace_back("checkpoint_bytes", static_cast<double>(need->bytes));
  if (space.free >= all) return finding;
  finding.level = space.free < need->bytes ? Level::fail : Level::warn;
  finding.remedy = fmt::format(
      "make room, set output to another disk, or lower checkpoint.keep_last; {} are kept, and one "
      "more while it is written",
      need->kept);
  return finding;
}

Findings check_disk(const DiskTrial& trial, const std::optional<CheckpointNeed>& need) {
  Findings findings;
  if (trial.space)
    findings.push_back(check_disk_space(trial.folder, *trial.space, need));
  else
    findings.push_back({"disk_space", Level::ok, "the system does not tell"});
  if (!trial.problem.empty()) {
    findings.push_back({"disk_speed", Level::fail, trial.problem,
                        "set output to a folder that this user may write to"});
    return findings;
  }
  Finding speed{"disk_speed", Level::ok,
                fmt::format("{} written, {} read in {}", rate_text(trial.written_per_s),
                            rate_text(trial.read_per_s), trial.folder.string())};
  speed.values = {{"written_bytes_per_s", trial.written_per_s},
                  {"read_bytes_per_s", trial.read_per_s}};
  if (trial.written_per_s < slow_disk) {
    speed.level = Level::warn;
    speed.remedy = "a checkpoint of 1 GiB takes more than 20 s here; set output to a faster disk";
  }
  findings.push_back(std::move(speed));
  return findings;
}

}  // namespace spire::inline doctor

// Writing and reading a temporary file, and what room and speed mean for a run.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/base/system.h"
#include "tools/doctor/checks.h"
#include "tools/process/descriptor.h"

namespace spire {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr size_t written_block = size_t{1} << 20;
constexpr double slow_disk = 50e6;  // bytes a second

// A file without a name: it is gone when the process ends, however that happens. None where it
// cannot be made; errno says why.
Descriptor unnamed_file(const fs::path& folder) {
  std::string name = (folder / ".spire-doctor-XXXXXX").string();
  Descriptor file(mkostemp(name.data(), O_CLOEXEC));
  if (file >= 0) unlink(name.c_str());
  return file;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Moved {
  uint64_t bytes = 0;
  int error = 0;  // errno of the call that failed; 0: none did
};

// Calls move() until the limits are reached, it fails, or it moves nothing.
template <typename Move>
Moved move_blocks(const TrialLimits& limits, Clock::time_point begin, const Move& move) {
  Moved moved;
  while (moved.bytes < limits.bytes && seconds_since(begin) < limits.seconds) {
    ssize_t bytes = move();
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) moved.error = errno;
    if (bytes <= 0) return moved;
    moved.bytes += static_cast<uint64_t>(bytes);
  }
  return moved;
}

// Writes to the disk and sets the rate. Returns the bytes; why it failed is in trial.problem.
uint64_t try_writing(int file, std::vector<char>& block, const TrialLimits& limits,
                     DiskTrial& trial) {
  auto begin = Clock::now();
  Moved moved = move_blocks(limits, begin, [&] { return write(file, block.data(), block.size()); });
  if (moved.error == 0 && moved.bytes == 0) moved.error = ENOSPC;
  if (moved.error == 0 && fsync(file) != 0) moved.error = errno;
  if (moved.error != 0)
    trial.problem = fmt::format("{} cannot be written to: {}, after {}", trial.folder.string(),
                                system_reason(moved.error), limit_text(moved.bytes));
  trial.written_per_s = static_cast<double>(moved.bytes) / seconds_since(begin);
  return moved.bytes;
}

// The same for reading `written` bytes from the start of the file.
void try_reading(int file, std::vector<char>& block, uint64_t written, const TrialLimits& limits,
                 DiskTrial& trial) {
  auto begin = Clock::now();
  bool ended = false;
  Moved moved = move_blocks({written, limits.seconds}, begin, [&] {
    ssize_t bytes = read(file, block.data(), block.size());
    ended = bytes == 0;
    return bytes;
  });
  if (moved.error != 0 || ended)
    trial.problem =
        fmt::format("a file in {} cannot be read back: {}, after {} of {}", trial.folder.string(),
                    ended ? "it ends too early" : system_reason(moved.error),
                    limit_text(moved.bytes), limit_text(written));
  trial.read_per_s = static_cast<double>(moved.bytes) / seconds_since(begin);
}

}  // namespace

DiskTrial try_disk(const fs::path& folder, const TrialLimits& limits) {
  fs::path tried = existing_folder(folder);
  DiskTrial trial{.folder = tried, .problem = "", .space = space_at(tried)};
  Descriptor file = unnamed_file(trial.folder);
  if (file < 0) {
    trial.problem =
        fmt::format("no file can be made in {}: {}", trial.folder.string(), system_reason(errno));
    return trial;
  }
  // Not zeros, which some file systems do not store.
  std::vector<char> block(written_block);
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<char>(i * 2654435761u >> 13);
  uint64_t written = try_writing(file, block, limits, trial);
  if (!trial.problem.empty()) return trial;
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  lseek(file, 0, SEEK_SET);
  try_reading(file, block, written, limits, trial);
  return trial;
}

Findings check_disk(const DiskTrial& trial, const std::optional<CheckpointNeed>& need) {
  Findings findings;
  if (trial.space)
    findings.push_back(check_disk_space(trial.folder, *trial.space, need));
  else
    findings.push_back({"disk_space", FindingLevel::ok, "the system does not tell"});
  if (!trial.problem.empty()) {
    findings.push_back(
        {"disk_speed", FindingLevel::fail, trial.problem,
         "set output to a folder on a good disk with room, that this user may write to"});
    return findings;
  }
  Finding speed{"disk_speed", FindingLevel::ok,
                fmt::format("{} written, {} read in {}", rate_text(trial.written_per_s),
                            rate_text(trial.read_per_s), trial.folder.string())};
  speed.values = {{"written_bytes_per_s", trial.written_per_s},
                  {"read_bytes_per_s", trial.read_per_s}};
  if (trial.written_per_s < slow_disk) {
    speed.level = FindingLevel::warn;
    speed.remedy = "a checkpoint of 1 GiB takes more than 20 s here; set output to a faster disk";
  }
  findings.push_back(std::move(speed));
  return findings;
}

}  // namespace spire

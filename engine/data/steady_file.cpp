#include "engine/data/steady_file.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

namespace spire::inline data {

FileStamp stamp_of(int descriptor, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0)
    fail(Category::data, "{}: cannot be examined: {}; check the disk", path.string(),
         std::strerror(errno));
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .bytes = static_cast<uint64_t>(status.st_size),
          .modified = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

FileChanged::FileChanged(const std::filesystem::path& path, const std::string& how)
    : Error(Category::data,
            fmt::format("{}: changed while the run reads it: {}; start again with the file as it "
                        "is now, or put the old one back and resume",
                        path.string(), how)) {}

void require_same(const std::filesystem::path& path, const FileStamp& before,
                  const FileStamp& now) {
  if (before == now) return;
  if (before.device != now.device || before.inode != now.inode)
    throw FileChanged(path, "another file has taken its place");
  if (before.bytes != now.bytes)
    throw FileChanged(path, fmt::format("it had {} bytes, now {}", before.bytes, now.bytes));
  throw FileChanged(path, "it was written to");
}

SteadyFile::SteadyFile(std::filesystem::path path)
    : file_(std::move(path), Category::data), stamp_(stamp_of(file_.descriptor(), file_.path())) {}

void SteadyFile::read(uint64_t place, std::span<std::byte> out) const {
  size_t done = file_.read_at(place, out);  // the stamp says how long the file is now
  require_same(path(), stamp_, stamp_of(file_.descriptor(), path()));
  if (done < out.size()) throw FileChanged(path(), fmt::format("it ends at byte {}", place + done));
}

}  // namespace spire::inline data

#include "engine/data/change_detection.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <utility>

#include "engine/base/hash.h"
#include "engine/base/text.h"

namespace spire {
namespace {

// Returns a hash that is never 0, which FileStampCache keeps for files that were not read yet.
uint64_t hash_of(const FileStamp& stamp) {
  static_assert(sizeof(FileStamp) == 32, "no padding is hashed");
  return hash64(&stamp, sizeof(stamp)) | 1;
}

}  // namespace

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
                        printable(path.string()), how)) {}

void require_unchanged(const std::filesystem::path& path, const FileStamp& before,
                       const FileStamp& now) {
  if (before == now) return;
  if (before.device != now.device || before.inode != now.inode)
    throw FileChanged(path, "another file has taken its place");
  if (before.bytes != now.bytes)
    throw FileChanged(path, fmt::format("it had {} bytes, now {}", before.bytes, now.bytes));
  throw FileChanged(path, "it was written to");
}

ChangeDetectingReader::ChangeDetectingReader(std::filesystem::path path)
    : file_(std::move(path), Category::data), stamp_(stamp_of(file_.descriptor(), file_.path())) {}

// Two system calls. A file that shrinks is an error, where a mapped one would end the process
// (SIGBUS).
void ChangeDetectingReader::read(uint64_t offset, std::span<std::byte> out) const {
  size_t done = file_.read_at(offset, out);
  // The stamp is checked after the read: a write before or during it shows here. It goes first, as
  // it says why a read is short.
  require_unchanged(path(), stamp_, stamp_of(file_.descriptor(), path()));
  if (done < out.size())
    throw FileChanged(path(), fmt::format("it ends at byte {}", offset + done));
}

bool FileStampCache::has(int64_t file) const {
  return hashes_[static_cast<size_t>(file)].load(std::memory_order_relaxed) != 0;
}

void FileStampCache::check(int64_t file, const FileStamp& stamp,
                           const std::filesystem::path& path) const {
  uint64_t now = hash_of(stamp), before = 0;
  auto& hash = hashes_[static_cast<size_t>(file)];
  // Relaxed: the hash is all that threads share, it guards no other memory.
  if (hash.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  if (before != now) throw FileChanged(path, "it is another one than was read before");
}

}  // namespace spire

#include "engine/data/seen_files.h"

#include "engine/base/hash.h"

namespace spire::inline data {
namespace {

// Never 0. Numbers of files on other devices, or of two states of a file, differ in some bit.
uint64_t hash_of(const FileStamp& stamp) {
  static_assert(sizeof(FileStamp) == 32, "no padding is hashed");
  return hash64(&stamp, sizeof(stamp)) | 1;
}

}  // namespace

bool SeenFiles::has(int64_t file) const {
  return seen_[static_cast<size_t>(file)].load(std::memory_order_relaxed) != 0;
}

void SeenFiles::check(int64_t file, const FileStamp& stamp,
                      const std::filesystem::path& path) const {
  uint64_t now = hash_of(stamp), before = 0;
  auto& seen = seen_[static_cast<size_t>(file)];
  if (seen.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  if (before != now) throw FileChanged(path, "it is another one than was read before");
}

}  // namespace spire::inline data

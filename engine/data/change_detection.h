// Detects data files that change while a run reads them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire {

// Identity and version of a file. Misses only a write after which the time was set back.
struct FileStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970

  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of an open file. Throws Error(data), naming `path`, where fstat fails.
FileStamp stamp_of(int descriptor, const std::filesystem::path& path);

// Error(data) for a changed file. It ends the run even with data.on_error: skip.
class FileChanged : public Error {
 public:
  FileChanged(const std::filesystem::path& path, const std::string& how);
};

// Throws FileChanged, which says what changed, unless the stamps are equal.
void require_unchanged(const std::filesystem::path& path, const FileStamp& before,
                       const FileStamp& now);

// Reads from one file, which stays open, and checks its stamp after each read. Thread-safe.
class ChangeDetectingReader {
 public:
  explicit ChangeDetectingReader(std::filesystem::path path);  // throws what RegularFile throws

  // Fills `out` from byte `offset` on. Throws FileChanged if the file was written since opened.
  void read(uint64_t offset, std::span<std::byte> out) const;

  const FileStamp& stamp() const { return stamp_; }  // of the file when it was opened
  uint64_t bytes() const { return stamp_.bytes; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  RegularFile file_;
  FileStamp stamp_;
};

// Remembers the stamps of files that are opened anew for each read, 8 bytes per file. Thread-safe.
class FileStampCache {
 public:
  explicit FileStampCache(int64_t count) : hashes_(static_cast<size_t>(count)) {}

  bool has(int64_t file) const;  // file: index in [0, count)
  // Remembers a file's first stamp. Throws FileChanged, naming `path`, if a later one differs.
  void check(int64_t file, const FileStamp& stamp, const std::filesystem::path& path) const;

 private:
  mutable std::vector<std::atomic<uint64_t>> hashes_;  // of the stamps; 0: not read yet
};

}  // namespace spire

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

namespace spire::inline data {

// Identity and version of a file. Only a write with the time set back escapes it.
struct FileStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970

  bool operator==(const FileStamp&) const = default;
};

// Returns the stamp of an open file. Throws Error(data), naming `path`, where fstat fails.
FileStamp stamp_of(int descriptor, const std::filesystem::path& path);

// Error(data) for a changed file, which data.on_error: skip does not pass over.
class FileChanged : public Error {
 public:
  FileChanged(const std::filesystem::path& path, const std::string& how);
};

// Throws FileChanged, saying how, unless the stamps are equal.
void require_unchanged(const std::filesystem::path& path, const FileStamp& before,
                       const FileStamp& now);

// Reads a file that stays open and checks its stamp after each read. Thread-safe.
class ChangeDetectingReader {
 public:
  explicit ChangeDetectingReader(std::filesystem::path path);  // throws as RegularFile

  // Fills `out` from `offset` on. Throws FileChanged where the file was written since it was
  // opened; the bytes in `out` are then invalid.
  void read(uint64_t offset, std::span<std::byte> out) const;

  const FileStamp& stamp() const { return stamp_; }  // when it was opened
  uint64_t bytes() const { return stamp_.bytes; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  RegularFile file_;
  FileStamp stamp_;
};

// Remembers stamps of files that are opened for each read: 8 bytes a file. Thread-safe.
class FileStampCache {
 public:
  explicit FileStampCache(int64_t count) : hashes_(static_cast<size_t>(count)) {}

  bool has(int64_t file) const;
  // Remembers a file's first stamp. Throws FileChanged, naming `path`, for a different one.
  void check(int64_t file, const FileStamp& stamp, const std::filesystem::path& path) const;

 private:
  mutable std::vector<std::atomic<uint64_t>> hashes_;  // of stamps; 0: not read yet
};

}  // namespace spire::inline data

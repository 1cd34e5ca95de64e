// Data files that a run reads as it goes, and that must stay what they were when it began.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire::inline data {

// Which file it is, and whether it was written since: whoever overwrites, cuts, empties or replaces
// a file changes one of these. Only who sets the time of a file back after writing it escapes.
struct FileStamp {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified = 0;  // nanoseconds since 1970

  bool operator==(const FileStamp&) const = default;
};

// Of an open file. Throws Error(data), naming `path`, where the system does not say.
FileStamp stamp_of(int descriptor, const std::filesystem::path& path);

// Error(data): the file is no longer what it was. No broken sample: data.on_error: skip does not
// pass over it.
class FileChanged : public Error {
 public:
  FileChanged(const std::filesystem::path& path, const std::string& how);
};

// Throws FileChanged, saying how, unless the two are equal.
void require_same(const std::filesystem::path& path, const FileStamp& before, const FileStamp& now);

// A file that stays open. Any thread may read; a file that shrinks is an error, where a mapped one
// would end the process (SIGBUS).
class SteadyFile {
 public:
  // Throws what RegularFile throws.
  explicit SteadyFile(std::filesystem::path path);

  // Fills `out` with the bytes from `place` on, two system calls. Throws FileChanged where the file
  // was written since it was opened: what was read is then not to be used.
  void read(uint64_t place, std::span<std::byte> out) const;

  const FileStamp& stamp() const { return stamp_; }  // when it was opened
  uint64_t bytes() const { return stamp_.bytes; }
  const std::filesystem::path& path() const { return file_.path(); }

 private:
  RegularFile file_;
  FileStamp stamp_;
};

}  // namespace spire::inline data

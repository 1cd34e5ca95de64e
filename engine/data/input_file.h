// Files of datasets: whether they change while a run reads them, their bytes, plain or gzip (RFC
// 1952, recognized by the first bytes 1f 8b), and where they lie. Every error is Error(data) and
// names the file.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <spire/error.h>

#include "engine/base/read_file.h"

namespace spire {

// Identity and version of a file. Stamps from before and after a write differ, unless the size is
// the same and somebody set the modification time back.
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

  bool has(int64_t file) const;  // whether check() has seen it; file: index in [0, count)
  // Remembers a file's first stamp. Throws FileChanged, naming `path`, if a later one differs.
  void check(int64_t file, const FileStamp& stamp, const std::filesystem::path& path) const;

 private:
  mutable std::vector<std::atomic<uint64_t>> hashes_;  // of the stamps; 0: not read yet
};

// Return `path` if it exists, else it with .gz added or removed. If neither exists, find_input()
// returns an empty path and existing_input() throws.
std::filesystem::path find_input(const std::filesystem::path& path);
std::filesystem::path existing_input(const std::filesystem::path& path);

// Returns $SPIRE_DATA/name, ./data/name, /usr/share/datasets/name: where data.path: auto looks.
std::vector<std::filesystem::path> standard_dataset_folders(const std::string& name);
// Returns the first folder with `file`, plain or .gz; else throws, naming all and `advice`.
std::filesystem::path find_dataset_folder(const std::vector<std::filesystem::path>& folders,
                                          const std::string& file, const std::string& advice);

class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);  // throws what RegularFile throws
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  // Fills `out` and returns the number of bytes written, which is smaller only at the end of the
  // content. Throws for damaged gzip data, and at the end FileChanged if the file was written.
  size_t read(std::span<uint8_t> out);

  // Reads the rest of the content. Throws if it is longer than `max_length` bytes.
  std::string read_text(size_t max_length);

  const std::filesystem::path& path() const { return file_.path(); }
  // Returns a bound of the content's length: the file's size; for gzip max(64 * size, 256 MiB).
  uint64_t max_bytes() const;

 private:
  struct Inflater;

  bool refill();  // reads the next chunk_ of the file; returns false at its end
  size_t read_plain(std::span<uint8_t> out);
  size_t read_gzip(std::span<uint8_t> out);
  [[noreturn]] void fail_gzip(const char* reason) const;

  RegularFile file_;
  FileStamp stamp_;  // of the file when it was opened
  std::vector<uint8_t> buffer_;
  std::span<const uint8_t> chunk_;      // unread part of buffer_
  uint64_t unpacked_ = 0;               // bytes of content that gzip data has given so far
  uint64_t raw_offset_ = 0;             // file offset of chunk_'s end
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
};

}  // namespace spire

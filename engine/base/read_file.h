// Reads files at offsets, mapped or whole. Distinguishes missing files from unreadable ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <spire/error.h>

namespace spire {

// Thrown if the system refuses to read a file that exists: the file itself may be good.
class UnreadableFile : public Error {
 public:
  using Error::Error;
};

// Regular file, open for reading. Links are followed; FIFOs and devices are refused, not opened.
// Errors are Error(category) with the file, the system's reason and a remedy: UnreadableFile if the
// file exists and cannot be read, with category device if too many files are open.
class RegularFile {
 public:
  RegularFile(std::filesystem::path path, Category category);  // a missing file is an error
  // Returns nullopt for a missing file.
  static std::optional<RegularFile> if_there(const std::filesystem::path& path, Category category);
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // size when it was opened

  // Fill `out`, or a part of it if the file ends before, and return the number of bytes read.
  // read() continues where the last read() ended; any threads may call read_at().
  size_t read(std::span<std::byte> out) const;
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;

  [[noreturn]] void fail_reading(int error) const;  // error: errno

 private:
  RegularFile(std::filesystem::path path, Category category, uint64_t bytes, int descriptor);

  std::filesystem::path path_;
  Category category_;
  uint64_t bytes_;
  int descriptor_;
};

// Regular file, mapped read-only. Only for files that this program wrote and has locked, because
// SIGBUS ends the process if somebody truncates a mapped file.
class MappedFile {
 public:
  explicit MappedFile(std::filesystem::path path);  // throws Error(data)
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

// max_bytes for files of any size.
constexpr size_t any_size = std::numeric_limits<ptrdiff_t>::max();

// Returns the content of a file, nullopt if missing. Throws Error(category), also above max_bytes.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path, Category category,
                                              size_t max_bytes = size_t{64} << 20);

// Returns the content of a file or pipe that a user names; waits until a writer opens the pipe.
// Throws Error(category), also if the file is missing or larger than `max_bytes`.
std::string read_stream(const std::filesystem::path& path, Category category,
                        size_t max_bytes = size_t{64} << 20);
// Reads an open descriptor to its end and leaves it open. name: what messages call it.
std::string read_stream(int descriptor, const std::filesystem::path& name, Category category,
                        size_t max_bytes = size_t{64} << 20);

// Returns the names in a folder, unordered; empty if it is missing. Throws Error(category).
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               Category category);

std::string_view kind_of_file(mode_t mode);  // "a folder", "a FIFO"; mode: st_mode

// Tells whether `path` still names the open file: false once the file is removed, moved or
// replaced; true if the system does not let `path` be looked up.
bool is_named(int descriptor, const std::filesystem::path& path);

// Tells whether anything exists at `path`; true also if the system does not let it be looked up.
bool is_there(const std::filesystem::path& path);

// Returns whether a regular file begins with these bytes. Returns false also if the file cannot be
// read; the caller opens it later, and that reports the error.
bool begins_with(const std::filesystem::path& path, std::string_view bytes);

}  // namespace spire

// Reads files at offsets, mapped or whole. Distinguishes missing files from unreadable ones.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <spire/error.h>

namespace spire {

// The system does not give the content of a file that exists: the file itself may be good.
class UnreadableFile : public Error {
 public:
  using Error::Error;
};

// A regular file open for reading. Follows links; never waits for a FIFO, never opens a device.
// Throws Error(category) with the file, the system's reason and a remedy.
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
  uint64_t bytes() const { return bytes_; }  // when it was opened

  // Fill `out`, or less of it at the file's end, and return the bytes read. read() goes on where
  // the last read() ended; any threads may call read_at().
  size_t read(std::span<std::byte> out) const;
  size_t read_at(uint64_t offset, std::span<std::byte> out) const;

  [[noreturn]] void fail_reading(int error) const;  // errno

 private:
  RegularFile(std::filesystem::path path, Category category, uint64_t bytes, int descriptor);

  std::filesystem::path path_;
  Category category_;
  uint64_t bytes_;
  int descriptor_;
};

// A regular file mapped read-only. Only for files that the program wrote and has locked: SIGBUS
// ends the process if somebody truncates a mapped file.
class MappedFile {
 public:
  explicit MappedFile(std::filesystem::path path);  // throws Error(data) as RegularFile does
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

// Returns the content of a regular file, nullopt for a missing one. Throws Error(category), also
// for more than `max_bytes`.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path, Category category,
                                              size_t max_bytes = size_t{64} << 20);

// Returns the content of a file or pipe that a user names; waits for the pipe's writer. Throws
// Error(category), also for a missing file or more than `max_bytes`.
std::string read_stream(const std::filesystem::path& path, Category category,
                        size_t max_bytes = size_t{64} << 20);
// Reads an open descriptor to its end and leaves it open. name: for messages.
std::string read_stream(int descriptor, const std::filesystem::path& name, Category category,
                        size_t max_bytes = size_t{64} << 20);

// Returns the names in a folder, unordered; none for a missing folder. Throws Error(category).
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               Category category);

std::string_view kind_of_file(mode_t mode);  // "a folder", "a FIFO", "a link", from st_mode

// Returns true while `path` names the open file, or if the system cannot say; false once the file
// is removed, moved or replaced.
bool is_named(int descriptor, const std::filesystem::path& path);

// Returns true if anything has that name, or may have it: opening it gives the reason.
bool is_there(const std::filesystem::path& path);

}  // namespace spire

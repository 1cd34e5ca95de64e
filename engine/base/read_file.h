// Reads files: at offsets, mapped into memory, or whole. "Not there" and "cannot be read" differ.
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

// The file is there, but the system does not give its content: the file itself may be good.
class UnreadableFile : public Error {
 public:
  using Error::Error;
};

// A regular file open for reading. Follows links; never waits for a FIFO, never opens a device.
// Every error is Error(category) with the file, the system's reason and a remedy.
class RegularFile {
 public:
  // Throws if the file is missing, is not regular, or the system refuses access.
  RegularFile(std::filesystem::path path, Category category);
  // Returns nullopt for a missing file, otherwise as the constructor.
  static std::optional<RegularFile> if_there(const std::filesystem::path& path, Category category);
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // when it was opened

  // Fill `out`, or less of it at the end of the file, and return the bytes read. read() continues
  // at the end of the last read(); read_at() is independent of it and of other threads.
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

// A regular file mapped read-only. Only for the program's own files under its lock, such as the
// parts of a conversion: SIGBUS ends the process if a mapped file is truncated. User files are read
// by ChangeDetectingReader.
class MappedFile {
 public:
  // Throws Error(data) as RegularFile does.
  explicit MappedFile(std::filesystem::path path);
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

// Returns the content of a regular file, or nullopt if it is missing. Throws Error(category) for an
// unreadable file, one longer than `max_bytes`, or one that is not regular.
std::optional<std::string> read_file_if_there(const std::filesystem::path& path, Category category,
                                              size_t max_bytes = size_t{64} << 20);

// Returns the content of anything with an end, `<(a pipe)` too: waits for the pipe's writer. For
// paths that a user names. Throws Error(category), also if the file is missing.
std::string read_stream(const std::filesystem::path& path, Category category,
                        size_t max_bytes = size_t{64} << 20);
// Reads an open descriptor from its position to the end and leaves it open. name: for messages.
std::string read_stream(int descriptor, const std::filesystem::path& name, Category category,
                        size_t max_bytes = size_t{64} << 20);

// Returns the names in a folder, unordered; none if there is no such folder. Throws Error(category)
// if it cannot be listed to its end.
std::vector<std::filesystem::path> list_folder(const std::filesystem::path& folder,
                                               Category category);

// Returns "a folder", "a FIFO", "a link" and so on, from st_mode.
std::string_view kind_of_file(mode_t mode);

// Tells whether `path` still names the open file: false once it is removed, moved or replaced. True
// if the system cannot tell.
bool is_named(int descriptor, const std::filesystem::path& path);

// Tells whether anything has that name. True for a file that cannot be examined: opening it gives
// the reason.
bool is_there(const std::filesystem::path& path);

}  // namespace spire

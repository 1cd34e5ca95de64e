// Opening files that have to be regular ones. A FIFO is never waited for, and a device or socket
// never opened: what they would do is not what was asked for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>

#include <spire/error.h>

namespace spire {

// The file is there, and the system does not give its content: the file itself may be good.
class UnreadableFile : public Error {
 public:
  using Error::Error;
};

// A regular file open for reading; links are followed. Every error is Error(category), names the
// file and the system's reason, and says what a person can do about it. Reads of other threads do
// not disturb read_at().
class RegularFile {
 public:
  // Throws for a missing file, for what is no regular file, and where the system refuses access.
  RegularFile(std::filesystem::path path, Category category);
  // The same; none where nothing has that name.
  static std::optional<RegularFile> if_there(const std::filesystem::path& path, Category category);
  ~RegularFile();
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // when it was opened

  // Fills `out` from where the last read() ended, or less of it at the file's end; returns the
  // bytes.
  size_t read(std::span<std::byte> out) const;
  // The same from a place in the file.
  size_t read_at(uint64_t place, std::span<std::byte> out) const;

  [[noreturn]] void fail_reading(int error) const;  // errno

 private:
  RegularFile(std::filesystem::path path, Category category, uint64_t bytes, int descriptor);

  std::filesystem::path path_;
  Category category_;
  uint64_t bytes_;
  int descriptor_;
};

// Opens a file of ours that is written in place, to read and write; makes it where nothing has the
// name. Throws Error(category) for what is no regular file: links are not followed. The caller
// closes the descriptor.
int open_in_place(const std::filesystem::path& path, Category category);

// "a folder", "a FIFO", "a link" and so on, from st_mode.
std::string_view kind_of_file(mode_t mode);

// Throws Error(category) where the name is taken by what is no regular file, links included; a
// file of ours may then be put in its place.
void require_replaceable(const std::filesystem::path& path, Category category);

// Whether the path names the file that is open: not where that was removed, moved or replaced.
// Where the system cannot look at it, it does.
bool is_named(int descriptor, const std::filesystem::path& path);

// Whether anything has that name. A file that cannot be looked at is there: opening it says why.
bool is_there(const std::filesystem::path& path);

}  // namespace spire

// A regular file open for reading. Every error is Error(data), names the file, and says what a
// person can do about it.
#pragma once
#include <cstdint>
#include <filesystem>

namespace spire {

class RegularFile {
 public:
  // Throws for a missing file, a folder or other thing that is no regular file, and where the
  // system refuses access.
  explicit RegularFile(std::filesystem::path path);
  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  uint64_t bytes() const { return bytes_; }  // when it was opened

  [[noreturn]] void fail_reading(int error) const;  // errno

 private:
  std::filesystem::path path_;
  uint64_t bytes_;
  int descriptor_;
};

// Whether anything has that name. A file that cannot be looked at is there: opening it says why.
bool is_there(const std::filesystem::path& path);

}  // namespace spire

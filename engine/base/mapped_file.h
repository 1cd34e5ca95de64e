// A file's bytes in memory, read by the system where they are touched.
#pragma once
#include <cstddef>
#include <filesystem>
#include <span>

namespace spire {

// Read-only. For files of the program's own alone, such as the parts of a conversion, on which it
// holds a lock: where a mapped file is cut off, the system ends the process. What people hand in is
// read by ChangeDetectingReader.
class MappedFile {
 public:
  // Throws Error(data), naming the file, where it is missing, no regular file, or not readable.
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

}  // namespace spire

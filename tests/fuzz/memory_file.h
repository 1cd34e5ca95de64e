// Bytes as a file with a path, for readers that take nothing else.
#pragma once
#include <filesystem>
#include <string>

#include <stdlib.h>
#include <unistd.h>

#include "engine/base/fail.h"

namespace spire::fuzz {

// A regular file, in memory where the system has /dev/shm. libhdf5 opens no file without a real
// path, so that memfd_create would not do. Deleted with the object.
class MemoryFile {
 public:
  MemoryFile(const uint8_t* data, size_t size) {
    std::filesystem::path folder = "/dev/shm";
    if (!std::filesystem::exists(folder)) folder = std::filesystem::temp_directory_path();
    path_ = (folder / "spire-fuzz-XXXXXX").string();
    int descriptor = ::mkstemp(path_.data());
    require(descriptor >= 0, "cannot make {}", path_);
    ssize_t wrote = ::write(descriptor, data, size);
    ::close(descriptor);
    require(wrote == static_cast<ssize_t>(size), "{} takes no more", path_);
  }
  ~MemoryFile() { ::unlink(path_.c_str()); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace spire::fuzz

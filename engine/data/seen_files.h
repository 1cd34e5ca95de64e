// Files that are opened anew each time they are read, and must then be the same ones.
#pragma once
#include <atomic>
#include <vector>

#include "engine/data/steady_file.h"

namespace spire::inline data {

// Remembers what each file was when it was first read: 8 bytes a file. Any thread may call.
class SeenFiles {
 public:
  explicit SeenFiles(int64_t count) : seen_(static_cast<size_t>(count)) {}

  bool has(int64_t file) const;
  // The first stamp of a file is remembered. Throws FileChanged, naming `path`, for another one.
  void check(int64_t file, const FileStamp& stamp, const std::filesystem::path& path) const;

 private:
  mutable std::vector<std::atomic<uint64_t>> seen_;  // hashes of stamps; 0: not read yet
};

}  // namespace spire::inline data

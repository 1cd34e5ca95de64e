// The bytes of a checkpoint file, read at any place.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "engine/base/read_file.h"

namespace spire::inline checkpoint {

// The file stays the one that was opened, whatever takes its name. Any thread may read.
class CheckpointBytes {
 public:
  // Throws what RegularFile throws, as Error(checkpoint).
  explicit CheckpointBytes(const std::filesystem::path& path) : file_(path, Category::checkpoint) {}

  uint64_t size() const { return file_.bytes(); }
  // Throw Error(checkpoint) where the file ends before that.
  void read(uint64_t offset, std::span<char> out) const;
  std::string read(uint64_t offset, uint64_t count) const;  // of few bytes

 private:
  RegularFile file_;
};

}  // namespace spire::inline checkpoint

// The bytes of a checkpoint file, read at any place.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace spire {

// The file stays the one that was opened, whatever takes its name. Any thread may read.
class CheckpointBytes {
 public:
  // Throws Error(checkpoint), without the file's name, as read() does.
  explicit CheckpointBytes(const std::filesystem::path& path);
  ~CheckpointBytes();
  CheckpointBytes(const CheckpointBytes&) = delete;
  CheckpointBytes& operator=(const CheckpointBytes&) = delete;

  uint64_t size() const { return size_; }
  void read(uint64_t offset, std::span<char> out) const;
  std::string read(uint64_t offset, uint64_t count) const;  // of few bytes

 private:
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

}  // namespace spire

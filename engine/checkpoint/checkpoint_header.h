// Text block in front of a checkpoint's HDF5 part (HDF5's user block): offsets of all tensors, and
// checksums over the whole file. docs/checkpoint_format.md shows one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/read_file.h"

namespace spire::inline checkpoint {

// The bytes of an open checkpoint file, read at any offset by any thread.
class CheckpointBytes {
 public:
  explicit CheckpointBytes(const std::filesystem::path& path) : file_(path, Category::checkpoint) {}

  uint64_t size() const { return file_.bytes(); }
  // Both throw Error(checkpoint) where the file ends too early.
  void read(uint64_t offset, std::span<char> out) const;
  std::string read(uint64_t offset, uint64_t count) const;  // for few bytes

 private:
  RegularFile file_;
};

struct TensorExtent {
  std::string name;     // "/weights/conv1.weight"
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t bytes = 0;
  std::string checksum;  // hash64 of the bytes, in hex
};

struct Header {
  uint64_t block = 0;                 // bytes of the header
  uint64_t file_bytes = 0;            // of the whole file
  std::string structure;              // checksum of the bytes behind the block, without tensors
  std::vector<TensorExtent> extents;  // disjoint, in ascending order
};

// Returns the bytes of the header for these tensor names: a power of two, at least 512 (HDF5).
uint64_t header_bytes(const std::vector<std::string>& names);

std::string to_text(const Header& header);  // the block itself, zero-padded to `block` bytes

// Checks every byte of the file against a checksum. Throws Error(checkpoint) naming the bad part.
Header verify_header(const CheckpointBytes& file);

}  // namespace spire::inline checkpoint

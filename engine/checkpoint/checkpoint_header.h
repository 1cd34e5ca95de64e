// Header of a checkpoint file: text in front of its HDF5 part (HDF5's user block), with the offsets
// of all tensors and checksums over the whole file. docs/checkpoint_format.md shows one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/read_file.h"

namespace spire {

// Bytes of an open checkpoint file. Any thread may read them, at any offset.
class CheckpointBytes {
 public:
  explicit CheckpointBytes(const std::filesystem::path& path) : file_(path, Category::checkpoint) {}

  uint64_t size() const { return file_.bytes(); }
  // Both throw Error(checkpoint) if the file ends too early.
  void read(uint64_t offset, std::span<char> out) const;
  std::string read(uint64_t offset, uint64_t count) const;  // for a few bytes

 private:
  RegularFile file_;
};

// Place of a tensor's values in the file.
struct TensorExtent {
  std::string name;     // "/weights/conv1.weight"
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t bytes = 0;
  std::string checksum;  // hash64 of the bytes, in hex
};

struct Header {
  uint64_t block = 0;                 // size of the header, bytes
  uint64_t file_bytes = 0;            // size of the whole file
  std::string structure;              // checksum of the HDF5 part without the tensors' bytes
  std::vector<TensorExtent> extents;  // disjoint, in ascending order
};

// Returns the size of the header for these tensor names: a power of two >= 512, as HDF5 requires.
uint64_t header_bytes(const std::vector<std::string>& names);

std::string to_text(const Header& header);  // the header itself, zero-padded to `block` bytes

// Reads the header and checks it alone. Throws Error(checkpoint).
Header read_header(const CheckpointBytes& file);
// Checks all bytes of the file against its checksums. Throws Error(checkpoint) with the bad part.
Header verify_header(const CheckpointBytes& file);

}  // namespace spire

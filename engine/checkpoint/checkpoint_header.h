// The text block in front of a checkpoint's HDF5 part, which HDF5 calls the user block: where each
// tensor's bytes lie, and checksums over them and over all other bytes of the file. It is verified
// before libhdf5 sees a byte, because that library does not survive every damaged file.
// docs/checkpoint_format.md shows one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "engine/base/read_file.h"

namespace spire::inline checkpoint {

// The bytes of a checkpoint file, read at any offset. It stays the file that was opened, whatever
// takes its name later. Any thread may read.
class CheckpointBytes {
 public:
  // Throws the errors of RegularFile, as Error(checkpoint).
  explicit CheckpointBytes(const std::filesystem::path& path) : file_(path, Category::checkpoint) {}

  uint64_t size() const { return file_.bytes(); }
  // Both throw Error(checkpoint) where the file ends too early. The second one is for few bytes.
  void read(uint64_t offset, std::span<char> out) const;
  std::string read(uint64_t offset, uint64_t count) const;

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

// Returns the bytes that the header of these tensor names needs: a power of two, at least 512, as
// HDF5 asks.
uint64_t header_bytes(const std::vector<std::string>& names);

// Returns the block itself, zero-padded to `block` bytes.
std::string to_text(const Header& header);

// Reads the whole file once, in pieces, and checks every byte against a checksum. Throws
// Error(checkpoint) that says which part is damaged.
Header verify_header(const CheckpointBytes& file);

}  // namespace spire::inline checkpoint

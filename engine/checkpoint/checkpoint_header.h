// The text block in front of a checkpoint's HDF5 part (HDF5 calls it the user block): where each
// tensor's bytes lie, and checksums over them and over all the rest. It is verified before libhdf5
// sees a byte, because that library is not made to survive a damaged file.
// docs/checkpoint_format.md shows one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "engine/checkpoint/checkpoint_bytes.h"

namespace spire::inline checkpoint {

struct TensorExtent {
  std::string name;     // "/weights/conv1.weight"
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t bytes = 0;
  std::string checksum;  // hash64 of the bytes, in hex
};

// Bytes that the header of these tensor names needs: a power of two, at least 512, as HDF5 asks.
uint64_t header_bytes(const std::vector<std::string>& names);

struct Header {
  uint64_t block = 0;                 // bytes of the header
  uint64_t file_bytes = 0;            // of the whole file
  std::string structure;              // checksum of all behind the block but the tensors
  std::vector<TensorExtent> extents;  // disjoint, in ascending order
};

// The block itself, zero-padded to `block` bytes.
std::string to_text(const Header& header);

// Reads the whole file once, in pieces, and throws Error(checkpoint) that says which part is
// damaged. Every byte of the file is covered.
Header verify_header(const CheckpointBytes& file);

}  // namespace spire::inline checkpoint

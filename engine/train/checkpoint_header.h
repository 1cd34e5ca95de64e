// The text block in front of a checkpoint's HDF5 part (HDF5 calls it the user block): where each
// tensor's bytes lie, and checksums over them and over all the rest. It is verified before libhdf5
// sees a byte, because that library is not made to survive a damaged file.
// docs/checkpoint_format.md shows one.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace spire {

struct TensorExtent {
  std::string name;     // "/weights/conv1.weight"
  uint64_t offset = 0;  // bytes from the start of the file
  uint64_t bytes = 0;
  std::string checksum;  // tensor_checksum
};

// Bytes that the header of these tensor names needs: a power of two, at least 512, as HDF5 asks.
uint64_t header_bytes(const std::vector<std::string>& names);

// The block itself, zero-padded to `block` bytes. `image` is what follows it in the file; the
// extents lie in it, disjoint, in ascending order.
std::string make_header(uint64_t block, std::string_view image,
                        const std::vector<TensorExtent>& extents);

// Reads the whole file once, a tensor at a time, and throws Error(checkpoint) that says which part
// is damaged. Every byte of the file is covered.
void verify_header(const std::filesystem::path& path);

}  // namespace spire

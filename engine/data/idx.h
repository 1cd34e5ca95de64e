// Reader of IDX files, the format of MNIST and its kin (yann.lecun.com/exdb/mnist): a big-endian
// magic 00 00 <type> <rank>, one big-endian uint32 a dimension, then the elements, last dimension
// varying quickest. Only unsigned bytes (type 08) are read. Files may be gzip, whatever their name.
#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

namespace spire {

struct IdxFile {
  std::filesystem::path path;  // the file that was read
  std::vector<int64_t> dims;   // images: (N, H, W); labels: (N)
  std::vector<uint8_t> values;
};

// Reads `path`, or the same name with .gz added or removed where only that exists. Throws
// Error(data), naming file and offset, unless the file is exactly one non-empty array of that rank.
// Never allocates more than the file's size can account for.
IdxFile read_idx_images(const std::filesystem::path& path);  // magic 0x00000803
IdxFile read_idx_labels(const std::filesystem::path& path);  // magic 0x00000801

// The existing one of `path`, `path`.gz and `path` without .gz; empty when there is none.
std::filesystem::path find_idx(const std::filesystem::path& path);

}  // namespace spire

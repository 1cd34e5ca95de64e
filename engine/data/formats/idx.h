// Reader of IDX files, the format of MNIST (yann.lecun.com/exdb/mnist): a big-endian magic
// 00 00 <type> <rank>, one big-endian uint32 a dimension, then the elements, last dimension
// fastest. Only unsigned bytes (type 08) are supported. Plain or gzip, whatever the name.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/input_file.h"

namespace spire::inline data {

struct IdxFile {
  std::filesystem::path path;  // the file that was read
  std::vector<int64_t> dims;   // images: (N, H, W); labels: (N)
  std::vector<uint8_t> values;
};

// Read `path`, or the same name with .gz added or removed. Throw Error(data), naming file and
// offset, unless the file is exactly one non-empty array; never allocate more than the file can
// hold.
IdxFile read_idx_images(const std::filesystem::path& path);  // magic 0x00000803
IdxFile read_idx_labels(const std::filesystem::path& path);  // magic 0x00000801

// Streams the images of a file, in memory for one of them.
class IdxImages {
 public:
  // Reads the header. Throws as read_idx_images for it.
  explicit IdxImages(const std::filesystem::path& path);

  int64_t count() const { return dims_[0]; }
  int64_t height() const { return dims_[1]; }
  int64_t width() const { return dims_[2]; }

  // Reads the next image to pixels (H, W); returns false after the last one. Throws Error(data)
  // where the file ends too early or too late.
  bool next(std::span<uint8_t> pixels);

 private:
  InputFile file_;
  std::vector<int64_t> dims_;
  int64_t read_ = 0;
};

}  // namespace spire::inline data

// Reader of IDX files (yann.lecun.com/exdb/mnist), plain or gzip: bytes 00 00 <type> <rank>, one
// big-endian uint32 per dimension, then the elements, row-major. The type must be 08, bytes.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/input_file.h"

namespace spire {

struct IdxFile {
  std::filesystem::path path;  // the file that was read, with or without .gz
  std::vector<int64_t> dims;   // images: (N, H, W); labels: (N)
  std::vector<uint8_t> values;
};

// Read `path`, or else it with .gz added or removed. Throw Error(data) with file and offset unless
// the file is exactly one non-empty array. Never allocate more than the file can contain.
IdxFile read_idx_images(const std::filesystem::path& path);  // magic 0x00000803
IdxFile read_idx_labels(const std::filesystem::path& path);  // magic 0x00000801

class IdxImages {  // reads the images of a file one after another
 public:
  explicit IdxImages(const std::filesystem::path& path);  // reads the header

  int64_t count() const { return dims_[0]; }
  int64_t height() const { return dims_[1]; }
  int64_t width() const { return dims_[2]; }

  // Reads the next image into pixels (H, W); returns false if there is none.
  bool next(std::span<uint8_t> pixels);

 private:
  InputFile file_;
  std::vector<int64_t> dims_;
  int64_t read_ = 0;
};

}  // namespace spire

// Readers of files of small images and their labels, plain or gzip.
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "engine/data/images/image_dataset.h"
#include "engine/data/input_file.h"

namespace spire {

// IDX files (yann.lecun.com/exdb/mnist): bytes 00 00 <type> <rank>, one big-endian uint32 per
// dimension, then the elements, row-major. The type must be 08, bytes.

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

// CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html). A record is one or two label bytes,
// then pixels (3, 32, 32), red plane first.

struct CifarLabels {
  std::vector<int64_t> classes;  // number of classes of each label byte
  size_t used = 0;               // index of the label byte to use
};

// Returns all records, with pixels (N, 32, 32, 3). Throws Error(data), naming file and byte.
LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels);

}  // namespace spire

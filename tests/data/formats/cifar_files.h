// Writer of small CIFAR files for tests.
#pragma once
#include "tests/data/test_files.h"

namespace spire {

// Returns records with these label bytes; pixel (c, y, x) of record r is (r + 40 c + 7 y + x) mod
// 256.
inline Bytes cifar_bytes(const std::vector<Bytes>& labels) {
  Bytes bytes;
  for (size_t record = 0; record < labels.size(); ++record) {
    bytes.insert(bytes.end(), labels[record].begin(), labels[record].end());
    for (size_t c = 0; c < 3; ++c)
      for (size_t y = 0; y < 32; ++y)
        for (size_t x = 0; x < 32; ++x)
          bytes.push_back(static_cast<uint8_t>(record + 40 * c + 7 * y + x));
  }
  return bytes;
}

// Writes six training images with labels 0 to 5, the last two in one file, and a test image.
inline void write_cifar10(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (uint8_t i = 0; i < 4; ++i)
    write_file(folder / ("data_batch_" + std::to_string(i + 1) + ".bin"), cifar_bytes({{i}}));
  write_file(folder / "data_batch_5.bin", cifar_bytes({{4}, {5}}));
  write_file(folder / "test_batch.bin", cifar_bytes({{9}}));
}

// Writes two training images and a test image, each with a coarse and a fine label.
inline void write_cifar100(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_file(folder / "train.bin", cifar_bytes({{19, 99}, {3, 41}}));
  write_file(folder / "test.bin", cifar_bytes({{0, 7}}));
}

}  // namespace spire

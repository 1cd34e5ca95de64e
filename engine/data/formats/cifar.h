// Reader of CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html), plain or gzip: records of
// label bytes and 3 x 32 x 32 pixels, red plane first.
#pragma once
#include <filesystem>
#include <span>

#include "engine/data/images/image_dataset.h"

namespace spire::inline data {

struct CifarLabels {
  std::vector<int64_t> classes;  // number of classes of each label byte of a record
  size_t used = 0;               // index of the byte that is the class
};

// Returns all records, pixels (N, 32, 32, 3). Throws Error(data) with file and byte.
LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels);

// Returns the lines of a file, none if it is missing. Throws Error(data) for another number than
// `classes`.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t classes);

}  // namespace spire::inline data

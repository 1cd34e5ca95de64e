// Reader of the binary files of CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html): records
// of one or two label bytes and 3 x 32 x 32 pixels, red plane first. Plain or gzip.
#pragma once
#include <filesystem>
#include <span>

#include "engine/data/images/image_dataset.h"

namespace spire::inline data {

// Label bytes before an image.
struct CifarLabels {
  std::vector<int64_t> classes;  // byte i is in [0, classes[i])
  size_t used = 0;               // index of the byte that is the class
};

// Returns all records of all files, pixels as (N, 32, 32, 3). Throws Error(data), naming file and
// byte, unless each file is one or more whole records.
LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels);

// Returns the class names of a file, one a line; empty: there is no such file. Throws Error(data)
// for another count than `classes`.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t classes);

}  // namespace spire::inline data

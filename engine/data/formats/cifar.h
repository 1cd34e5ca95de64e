// Reader of the binary files of CIFAR-10 and CIFAR-100 (cs.toronto.edu/~kriz/cifar.html): records
// of one or two label bytes and 3 x 32 x 32 pixels, the red plane first. Plain or gzip.
#pragma once
#include <filesystem>
#include <span>

#include "engine/data/images/image_dataset.h"

namespace spire::inline data {

// The label bytes before an image, and which of them is the class.
struct CifarLabels {
  std::vector<int64_t> classes;  // each byte is in [0, classes[i])
  size_t used = 0;
};

// All records of all files, in that order; pixels as (N, 32, 32, 3). Each path may have .gz added
// or removed. Throws Error(data), naming file and byte, unless each is one or more whole records.
LabelledImages read_cifar(std::span<const std::filesystem::path> paths, const CifarLabels& labels);

// One name a line; empty when there is no such file. Throws Error(data) for another count.
std::vector<std::string> read_class_names(const std::filesystem::path& path, int64_t classes);

}  // namespace spire::inline data
